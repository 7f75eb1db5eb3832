# SPDX-License-Identifier: BSD-3-Clause
"""The one oracle: exact numbers, and one measure of closeness in units of eps.

Planes become Python integers (times ``2**-SCALE``) or Fractions; nothing here rounds but the error
that is reported at the end. Complex numbers are pairs ``(real, imaginary)``.

    errors = error_in_eps(got, want, prec)            # |got - want| / (eps |want|)
    assert_close(got, want, prec, bound_eps=1)        # fails with the worst number's limbs
    assert_close(c, exact_matmul(a, b), prec, bound_eps=k, scale=exact_abs_matmul(a, b))
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from mdla.core.precision import precision

# Every double is an integer multiple of 2**-SCALE.
SCALE = 1074
_UNIT = 1 << SCALE


def planes_of(x):
    """The planes of an MDArray, or the planes themselves."""
    return getattr(x, "planes", x)


def _integer_list(limbs):
    """Exact sums of finite limbs ``(N, count)`` in units of 2**-SCALE."""
    limbs = np.asarray(limbs, dtype=np.float64)
    assert np.isfinite(limbs).all(), "the oracle needs finite numbers"
    mantissas, exponents = np.frexp(limbs)
    tops = np.ldexp(mantissas, 53).astype(np.int64).T.tolist()
    shifts = (exponents - 53 + SCALE).T.tolist()
    return [
        sum(t << s if s >= 0 else t >> -s for t, s in zip(row, shift, strict=True))
        for row, shift in zip(tops, shifts, strict=True)
    ]


def _object_array(items, shape):
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out.reshape(shape)


def integers(planes):
    """Object array ``(c, *shape)`` of the exact values times 2**SCALE."""
    planes = planes_of(planes)
    shape = planes.shape[2:]
    flat = planes.reshape(*planes.shape[:2], math.prod(shape))
    return _object_array([v for part in flat for v in _integer_list(part)], (len(flat), *shape))


def exact(planes):
    """Object array ``shape`` of Fractions; of pairs of Fractions for complex planes."""
    values = integers(planes)
    shape = values.shape[1:]
    parts = [[Fraction(v, _UNIT) for v in part] for part in values.reshape(len(values), -1)]
    if len(parts) == 1:
        return _object_array(parts[0], shape)
    return _object_array(list(zip(*parts, strict=True)), shape)


def exact_matmul(a, b):
    """The exact product of two (stacks of) matrices, as `exact` would give it."""
    x, y = integers(a), integers(b)
    square = 1 << (2 * SCALE)
    real = x[0] @ y[0]
    if len(x) == len(y) == 1:
        return _object_array([Fraction(v, square) for v in real.ravel()], real.shape)
    zero_x = x[1] if len(x) == 2 else x[0] * 0
    zero_y = y[1] if len(y) == 2 else y[0] * 0
    real = real - zero_x @ zero_y
    imag = x[0] @ zero_y + zero_x @ y[0]
    pairs = zip(real.ravel(), imag.ravel(), strict=True)
    return _object_array([(Fraction(r, square), Fraction(i, square)) for r, i in pairs], real.shape)


def exact_abs_matmul(a, b):
    """``|A| |B|`` exactly, the scale of the error bound of a matrix product.

    Of complex entries the sum of the absolute parts is taken, which is at least their modulus and
    at most sqrt(2) times it.
    """
    x, y = np.abs(integers(a)).sum(axis=0), np.abs(integers(b)).sum(axis=0)
    product = x @ y
    return _object_array([Fraction(v, 1 << (2 * SCALE)) for v in product.ravel()], product.shape)


def _pair(value):
    return value if isinstance(value, tuple) else (value, 0)


def _as_float(value):
    """A nonnegative Fraction as a float; infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def error_in_eps(got, want, prec, scale=None):
    """Errors ``|got - want| / (eps * |want|)`` as an array of floats.

    Args:
        got: Planes or an MDArray.
        want: Exact values: an array (or a nested list) of Fractions, integers or floats, pairs of
            them for complex numbers. An error is normwise then, over both parts.
        prec: The precision whose eps is the unit.
        scale: What to divide by instead of ``|want|``: exact nonnegative numbers.

    An exact hit has error 0, a miss of an exact zero has error inf, and so has anything not
    finite.
    """
    planes = planes_of(got)
    eps = precision(prec).eps
    shape = planes.shape[2:]
    wanted = _wanted_list(want, shape)
    scales = (
        [None] * len(wanted) if scale is None else np.broadcast_to(scale, shape).ravel().tolist()
    )
    finite = np.isfinite(planes).all(axis=(0, 1))
    known = exact(np.where(finite, planes, 0)).ravel().tolist()
    errors = []
    for ok, value, target, size in zip(finite.ravel(), known, wanted, scales, strict=True):
        if not ok:
            errors.append(math.inf)
            continue
        (re, im), (want_re, want_im) = _pair(value), _pair(target)
        miss = abs(re - Fraction(want_re)), abs(im - Fraction(want_im))
        if miss == (0, 0):
            errors.append(0.0)
            continue
        # The larger part is taken out, so that neither square over- nor underflows.
        if size is None:
            largest = max(abs(Fraction(want_re)), abs(Fraction(want_im)))
            if largest == 0:
                errors.append(math.inf)
                continue
            modulus = math.hypot(float(want_re / largest), float(want_im / largest))
        else:
            largest, modulus = Fraction(size), 1.0
            if largest == 0:
                errors.append(math.inf)
                continue
        parts = [_as_float(part / largest / eps) for part in miss]
        errors.append(math.hypot(*parts) / modulus)
    return np.array(errors).reshape(shape)


def _wanted_list(want, shape):
    if isinstance(want, np.ndarray):
        assert want.shape == shape, f"want has shape {want.shape}, got has {shape}"
        return list(want.ravel())
    if shape == ():
        return [want]
    if len(shape) == 1:
        return list(want)
    return [x for row in want for x in _wanted_list(row, shape[1:])]


def hex_limbs(planes, index=()):
    """The limbs of one number in hexadecimal, for messages."""
    planes = planes_of(planes)
    number = planes[(slice(None), slice(None), *index)]
    return " + i ".join(str([float(v).hex() for v in part]) for part in number)


def worst(errors):
    """Index and value of the largest error."""
    index = np.unravel_index(int(np.argmax(errors)), errors.shape) if errors.shape else ()
    return tuple(int(i) for i in index), float(errors[index])


def assert_close(got, want, prec, bound_eps, scale=None, operands=()):
    """Require ``|got - want| <= bound_eps * eps * |want|`` (or ``* scale``) for every number.

    Args:
        got: Planes or an MDArray.
        want: Exact values, see `error_in_eps`.
        prec: The precision.
        bound_eps: The bound in units of eps.
        scale: See `error_in_eps`.
        operands: Planes of the same shape, whose limbs at the worst place go into the message.
    """
    errors = error_in_eps(got, want, prec, scale)
    if errors.size == 0:
        return
    index, value = worst(errors)
    if value > bound_eps:
        lines = [f"{precision(prec).name}: error {value:.6g} eps > {bound_eps} eps at {index}"]
        lines.append(f"  got {hex_limbs(got, index)}")
        lines += [f"  operand {hex_limbs(x, index)}" for x in operands]
        raise AssertionError("\n".join(lines))


def is_normalised(planes):
    """Where each limb is at most half an ulp of the one before, and zeros come last.

    Infinities and nans must stand alone.
    """
    planes = planes_of(planes)
    good = np.ones(planes.shape[2:], dtype=bool)
    bits = np.finfo(planes.dtype).nmant + 1
    smallest = np.finfo(planes.dtype).minexp - bits + 1
    for part in planes:
        for above, below in itertools.pairwise(part):
            finite = np.isfinite(above)
            exponent = np.frexp(np.where(finite, above, 0))[1]
            # |x| in [2^(e-1), 2^e) has half ulp 2^(e-bits-1).
            half = np.ldexp(1.0, np.maximum(exponent - bits - 1, smallest - 1).astype(int))
            fits = np.abs(below.astype(np.float64)) <= np.where(above == 0, 0, half)
            good &= np.where(finite, fits, below == 0)
    return good


def assert_normalised(planes, operands=()):
    """Require `is_normalised` everywhere."""
    good = is_normalised(planes)
    if not good.all():
        index = tuple(int(i[0]) for i in np.nonzero(~good)) if good.shape else ()
        lines = [f"{int((~good).sum())} of {good.size} not normalised, first at {index}:"]
        lines.append(f"  {hex_limbs(planes, index)}")
        lines += [f"  operand {hex_limbs(x, index)}" for x in operands]
        raise AssertionError("\n".join(lines))


def bits_of(planes):
    """The bit patterns of the limbs; all nans count as the same one."""
    planes = planes_of(planes)
    kind = {8: np.uint64, 4: np.uint32}[planes.dtype.itemsize]
    canonical = np.where(np.isnan(planes), planes.dtype.type(np.nan), planes)
    return np.ascontiguousarray(canonical).view(kind)


def assert_same_bits(a, b, operands=()):
    """Require equal shapes, types and bits (signs of zeros included)."""
    a, b = planes_of(a), planes_of(b)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    differ = (bits_of(a) != bits_of(b)).any(axis=(0, 1)) if a.size else np.zeros(a.shape[2:], bool)
    if differ.any():
        index = tuple(int(i[0]) for i in np.nonzero(differ)) if differ.shape else ()
        lines = [f"{int(differ.sum())} of {differ.size} differ, first at {index}:"]
        lines += [f"  {hex_limbs(a, index)}", f"  {hex_limbs(b, index)}"]
        lines += [f"  operand {hex_limbs(x, index)}" for x in operands]
        raise AssertionError("\n".join(lines))


# -- single operations, fast enough for long sweeps ----------------------------------------------


def exact_results(name, *operands):
    """The exact results of an operation on real operands ``(1, N, count)``.

    Returns:
        Numerators and denominators, both lists of integers, of the results times 2**SCALE. A
        square root is cut off at a relative error of 2**-1000.
    """
    x = [list(integers(operand)[0]) for operand in operands]
    ones = [1] * len(x[0])
    units = [_UNIT] * len(x[0])
    if name == "add":
        return [a + b for a, b in zip(*x, strict=True)], ones
    if name == "sub":
        return [a - b for a, b in zip(*x, strict=True)], ones
    if name == "mul":
        return [a * b for a, b in zip(*x, strict=True)], units
    if name == "fma":
        return [a * b + (c << SCALE) for a, b, c in zip(*x, strict=True)], units
    if name == "div":
        return [a << SCALE for a in x[0]], x[1]
    assert name == "sqrt"
    return [math.isqrt(a << (SCALE + 2048)) for a in x[0]], [1 << 1024] * len(x[0])


def result_errors(got, results, prec, allowance=None):
    """Errors of real planes ``(1, N, count)`` against `exact_results`, in units of eps.

    Args:
        got: The computed planes.
        results: Numerators and denominators.
        prec: The precision.
        allowance: Exact numbers times 2**SCALE that are allowed on top of ``eps |result|``: the
            error is divided by ``|result| + allowance / eps`` instead of ``|result|``.
    """
    shift = -precision(prec).eps_exponent
    extra = [0] * got.shape[2] if allowance is None else allowance
    errors = []
    for g, p, q, e in zip(integers(got)[0], *results, extra, strict=True):
        miss, unit = abs(g * q - p), abs(p) + (abs(e * q) << shift)
        if miss == 0:
            errors.append(0.0)
        elif unit == 0:
            errors.append(math.inf)
        else:
            # One correct rounding; Python's division of integers takes any size.
            errors.append((miss << shift) / unit if miss < unit << 900 else math.inf)
    return np.array(errors)
