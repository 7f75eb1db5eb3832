// SPDX-License-Identifier: BSD-3-Clause
// All operations on expansions: add sub mul div sqrt fma neg abs compare.
#pragma once

#include "quotient.hpp"
#include "root.hpp"
#include "sum.hpp"

namespace mdla {
inline namespace MDLA_LEVEL {

// a b + c, the product kept to M = min(2 N, 19) limbs, as many as the exponent range of a double
// holds: error at most eps |result| + 2^(-52 M) |a b|.
template <class T, int N>
MDLA_INLINE expansion<T, N> fma(const expansion<T, N>& a, const expansion<T, N>& b,
                                const expansion<T, N>& c) {
  const T ieee = fma(a.limb[0], b.limb[0], c.limb[0]);
  if constexpr (N == 1) {
    return {{ieee}};
  } else {
    constexpr int M = 2 * N < 19 ? 2 * N : 19;
    const expansion<T, M> p = mul_finite(resize<M>(a), resize<M>(b));
    // Settled with M limbs: the networks in use are those of M, and so are their specials.
    return resize<N>(settle_specials(add_finite(p, resize<M>(c)), ieee));
  }
}

// Sign of x - y as a lane: negative, zero, positive; nan when either is nan. Exact, because the
// difference of two expansions is zero only if they are equal and keeps its sign otherwise.
template <class T, int N>
MDLA_INLINE T compare(const expansion<T, N>& x, const expansion<T, N>& y) {
  const T lead = x.limb[0] - y.limb[0];
  const T difference = add_finite(x, neg(y)).limb[0];
  // inf - inf is nan although equal; any other non-finite difference is settled by the leading
  // limb.
  const T zero = splat<T>(0);
  return select(eq(x.limb[0], y.limb[0]) & is_not_finite(lead), zero,
                select(is_not_finite(lead), lead, difference));
}

}  // namespace MDLA_LEVEL
}  // namespace mdla
