// SPDX-License-Identifier: BSD-3-Clause
// Sums of products of digits, and what follows them, for a fixed number of digits, as a table.
#pragma once

#include "digit_arithmetic.hpp"
#include "elimination.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

namespace fixed {

// Balanced digits d[0..D] times 2^exponent as limbs.
using limbs_of = void (*)(double* limbs, const word* d, int D, real exponent);
template <int N>
void to_limbs(double* limbs, const word* d, int D, real exponent) {
  const expansion<real, N> x =
      from_digits<N, real>(d, D, result_scale<real>{false, value(0), exponent});
  for (int i = 0; i < N; ++i) io<real>::store(limbs + i * W, x.limb[i]);
}
inline limbs_of limbs_of_format(int N) {
  switch (N) {
    case 1:
      return &to_limbs<1>;
    case 2:
      return &to_limbs<2>;
    case 3:
      return &to_limbs<3>;
    case 4:
      return &to_limbs<4>;
    case 5:
      return &to_limbs<5>;
    case 8:
      return &to_limbs<8>;
    case 10:
      return &to_limbs<10>;
    default:
      return &to_limbs<16>;
  }
}

// The inner loops, unrolled for the usual numbers of digits D. Compiled apart from all else, which
// is the same for every D.
using products_of = void (*)(u64* m, size m_row, int digits, const u64* const* x, size x_step,
                             const u64* y, size y_step, int K, bool more);
using finish_of = void (*)(u64* to, const u64* limbs, real f, real g, const cut_plan& plan,
                           const u64* m, const u64* x_sums, const u64* y_sums, int noise);
using divide_of = void (*)(u64* to, const u64* const* x, const word* signs, const u64* const* y,
                           const u64* half, int noise);
struct product_kernels {
  products_of factor[right_sides + 1];      // D digits, for 1, 2 or 4 rows side by side
  products_of substitute[right_sides + 1];  // D + 1 digits, y with D
  products_of divide, divide_longer;        // D + 1 digits, x with D; D + 2, x and y with D + 1
  finish_of finish;
  divide_of divide_real, divide_complex;
};

template <int R, int F, int SX, int SY>
void products_apart(u64* m, size m_row, int digits, const u64* const* x, size x_step, const u64* y,
                    size y_step, int K, bool more) {
  products<R, F, SX, SY>(m, m_row, digits, x, x_step, y, y_step, K, more);
}

template <int F, int P>
constexpr divide_of divide_with() {
  if constexpr (F > 0) return &divide_digits<F, P>;
  return nullptr;
}

template <int F>
constexpr product_kernels kernels_of() {
  constexpr int F1 = F ? F + 1 : 0, F2 = F ? F + 2 : 0;
  return {{nullptr, &products_apart<1, F, 0, 0>, &products_apart<2, F, 0, 0>, nullptr,
           &products_apart<4, F, 0, 0>},
          {nullptr, &products_apart<1, F1, 0, 1>, nullptr, nullptr, &products_apart<4, F1, 0, 1>},
          &products_apart<1, F1, 1, 0>,
          &products_apart<1, F2, 1, 1>,
          &finish_entry<F>,
          divide_with<F, 1>(),
          divide_with<F, 2>()};
}

template <int F>
inline constexpr product_kernels kernels_for = kernels_of<F>();

inline const product_kernels& kernels_with(int digits) {
  switch (digits) {
    case 3:
      return kernels_for<3>;
    case 4:
      return kernels_for<4>;
    case 5:
      return kernels_for<5>;
    case 6:
      return kernels_for<6>;
    default:
      return kernels_for<0>;
  }
}
}  // namespace fixed

}  // namespace MDLA_LEVEL
}  // namespace mdla
