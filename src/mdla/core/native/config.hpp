// SPDX-License-Identifier: BSD-3-Clause
// The one place that knows which compiler reads these headers: a host C++17 compiler or NVRTC.
//
// Every header of this folder compiles in both worlds. Under NVRTC there is no standard library, so
// the headers use none of it where __CUDACC_RTC__ is defined.
#pragma once

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define MDLA_DEVICE 1
#define MDLA_INLINE __host__ __device__ __forceinline__
#define MDLA_OUTLINE __host__ __device__ inline
#define MDLA_CONSTEXPR __host__ __device__ constexpr
#define MDLA_UNROLL _Pragma("unroll")
#else
#define MDLA_DEVICE 0
#define MDLA_INLINE inline __attribute__((always_inline))
#define MDLA_OUTLINE inline __attribute__((noinline))
#define MDLA_CONSTEXPR constexpr
#define MDLA_UNROLL _Pragma("GCC unroll 16")
#endif

#if !defined(__CUDACC_RTC__)
#include <cmath>
#include <cstring>
#endif

// One copy of every template per instruction set: the level is an inline namespace, so that the
// linker never merges code compiled for different machines.
#if !defined(MDLA_LEVEL)
#define MDLA_LEVEL portable
#endif

namespace mdla {
inline namespace MDLA_LEVEL {

using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

}  // namespace MDLA_LEVEL
}  // namespace mdla
