# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons and what is built from them.

Comparisons are exact, whatever the operands: an array in dd and the fraction 1/3 differ, and their
order is that of their exact values. They return NumPy arrays of bool.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mdla.core import convert, planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import DEFAULT, Operand, exact_join, read, to_array, unify
from mdla.core.precision import Precision
from mdla.core.protocols import implements
from mdla.core.rounding import Part, dyadic_of_limbs

__all__ = [
    "allclose",
    "array_equal",
    "clip",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "not_equal",
    "signbit",
    "where",
]

Bools = npt.NDArray[np.bool_]
Planes = npt.NDArray[Any]


@implements(np.equal)
def equal(a: Any, b: Any) -> Bools:
    """Whether ``a == b``, exactly.

    Example:
        >>> import mdla
        >>> bool(mdla.array(0.1) == 0.1), bool(mdla.array("0.1") == 0.1)
        (True, False)
    """
    return _compare("eq", a, b)


@implements(np.not_equal)
def not_equal(a: Any, b: Any) -> Bools:
    """Whether ``a != b``, exactly."""
    return _compare("ne", a, b)


@implements(np.less)
def less(a: Any, b: Any) -> Bools:
    """Whether ``a < b``, exactly.

    Raises:
        TypeError: An operand is complex.
    """
    return _compare("lt", a, b)


@implements(np.less_equal)
def less_equal(a: Any, b: Any) -> Bools:
    """Whether ``a <= b``, exactly."""
    return _compare("le", a, b)


@implements(np.greater)
def greater(a: Any, b: Any) -> Bools:
    """Whether ``a > b``, exactly."""
    return _compare("gt", a, b)


@implements(np.greater_equal)
def greater_equal(a: Any, b: Any) -> Bools:
    """Whether ``a >= b``, exactly."""
    return _compare("ge", a, b)


def _compare(name: str, a: Any, b: Any) -> Bools:
    if isinstance(a, MDArray) and isinstance(b, MDArray) and a.planes.dtype == b.planes.dtype:
        return _scalar(_planes.compare(name, a.planes, b.planes))
    x, y = read(a), read(b)
    if x.planes is None and y.planes is None:
        # Neither is an array of ours, so neither decides the format.
        x = read(to_array(a))
    if x.planes is not None and y.planes is not None:
        assert x.holds is not None
        assert y.holds is not None
        if x.planes.dtype == y.planes.dtype:
            return _scalar(_planes.compare(name, x.planes, y.planes))
        joint = exact_join(x.holds, y.holds)
        return _scalar(
            _planes.compare(name, _planes.cast(x.planes, joint), _planes.cast(y.planes, joint))
        )
    if x.planes is None:
        return _compare_rounded(_MIRROR[name], y, x)
    return _compare_rounded(name, x, y)


_MIRROR = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _compare_rounded(name: str, x: Operand, y: Operand) -> Bools:
    """Compare exact planes with numbers that no format holds exactly.

    A number v is rounded to r in the format of x. Nothing of that format lies strictly between v
    and r, so x compares with v as with r; where x equals r, the sign of v - r decides.
    """
    assert x.planes is not None
    assert x.holds is not None
    prec = exact_join(exact_join(x.holds, DEFAULT), y.counts or DEFAULT)
    rounded, beyond = _round_with_sign(y.source, prec)
    exact = _planes.cast(x.planes, prec)
    if max(exact.shape[0], rounded.shape[0]) == 2:
        # Complex numbers are only equal or not: where v was rounded, they are not.
        equal_ = _planes.compare("eq", exact, rounded) & ~np.any(beyond, axis=0)
        if name in ("eq", "ne"):
            return _scalar(equal_ if name == "eq" else ~equal_)
        return _planes.compare(name, exact, rounded)
    sign = _planes.signs(exact, rounded)
    sign = np.where(sign == 0, -beyond[0], sign)
    return _scalar(_planes.by_sign(name, sign))


def _round_with_sign(source: Any, prec: Precision) -> tuple[Planes, npt.NDArray[np.int8]]:
    """Rounded planes of any numbers, and the signs of what the rounding took away."""
    rounded = convert.to_planes(source, prec)
    if hasattr(source, "tolist") and not isinstance(source, np.ndarray):
        source = source.tolist()
    nested = isinstance(source, (list, tuple, range, np.ndarray))
    objects = np.asarray(source if nested else [source], dtype=object).ravel()
    columns = np.moveaxis(rounded.reshape(*rounded.shape[:2], len(objects)), 2, 0).tolist()
    beyond = np.zeros((rounded.shape[0], len(objects)), dtype=np.int8)
    for i, (number, parts) in enumerate(zip(objects, columns, strict=True)):
        if isinstance(number, MDArray):
            # It counted when the format was chosen, and so is exact.
            continue
        for part, (exact, limbs) in enumerate(
            zip(convert.exact_parts(number), parts, strict=False)
        ):
            beyond[part, i] = _sign_of_rest(exact, limbs)
    return rounded, beyond.reshape(rounded.shape[0], *rounded.shape[2:])


def _sign_of_rest(exact: Part | None, limbs: list[float]) -> int:
    if not isinstance(exact, tuple):
        return 0
    if not np.isfinite(limbs[0]):
        # The number is finite but beyond all doubles: it lies inside its infinity.
        return -1 if limbs[0] > 0 else 1
    top, shift = dyadic_of_limbs(limbs)
    rest = (exact[0] << shift) - top * exact[1]
    return (rest > 0) - (rest < 0)


def _scalar(result: Any) -> Bools:
    """A NumPy scalar in place of a 0-d array, as NumPy's own comparisons give."""
    scalar: Bools = result[()]
    return scalar


# -- classification ------------------------------------------------------------------------------


@implements(np.isnan)
def isnan(a: Any) -> Bools:
    """Where a is nan (in either part)."""
    return _scalar(np.isnan(to_array(a).planes[:, 0]).any(axis=0))


@implements(np.isinf)
def isinf(a: Any) -> Bools:
    """Where a is infinite (in either part)."""
    return _scalar(np.isinf(to_array(a).planes[:, 0]).any(axis=0))


@implements(np.isfinite)
def isfinite(a: Any) -> Bools:
    """Where a is neither infinite nor nan."""
    return _scalar(np.isfinite(to_array(a).planes[:, 0]).all(axis=0))


@implements(np.signbit)
def signbit(a: Any) -> Bools:
    """Where the sign of a is set, also for -0.0."""
    a = to_array(a)
    if a.iscomplex:
        raise TypeError("signbit is not defined for complex numbers; take .real or .imag")
    return _scalar(np.signbit(a.planes[0, 0]))


# -- selection -----------------------------------------------------------------------------------


@implements(np.where)
def where(condition: Any, a: Any, b: Any) -> MDArray:
    """Entries of a where the condition holds, of b elsewhere.

    Example:
        >>> import mdla
        >>> x = mdla.array([-1, 2])
        >>> print(mdla.where(x > 0, x, 0))
        [0. 2.]
    """
    chosen = condition if isinstance(condition, np.ndarray) else np.asarray(_truth(condition))
    (x, y), result, working = unify(a, b)
    # Selection needs whole numbers of limbs on both sides.
    x, y = _planes.cast(x, working), _planes.cast(y, working)
    return MDArray(_planes.cast(_planes.select(chosen.astype(bool), x, y), result))


def _truth(condition: Any) -> Any:
    return not_equal(condition, 0) if isinstance(condition, MDArray) else condition


@implements(np.minimum)
def minimum(a: Any, b: Any) -> MDArray:
    """The smaller of both, nan where one is nan."""
    return _choose("le", a, b)


@implements(np.maximum)
def maximum(a: Any, b: Any) -> MDArray:
    """The larger of both, nan where one is nan."""
    return _choose("ge", a, b)


def _choose(name: str, a: Any, b: Any) -> MDArray:
    (x, y), result, working = unify(a, b)
    x, y = _planes.cast(x, working), _planes.cast(y, working)
    return MDArray(_planes.cast(choose(name, x, y), result))


def choose(name: str, x: Planes, y: Planes) -> Planes:
    """Planes of x where it compares with y as named or is nan, of y elsewhere."""
    keep = _planes.compare(name, x, y) | np.isnan(x[0, 0])
    return _planes.select(keep, x, y)


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Entries of a, those below a bound replaced by it, those above the other by that.

    Args:
        a: Real numbers.
        a_min: The lower bound, or None.
        a_max: The upper bound, or None.
        min: Another name of a_min.
        max: Another name of a_max.

    Raises:
        TypeError: The array is complex.
    """
    low = a_min if min is None else min
    high = a_max if max is None else max
    result = to_array(a)
    if low is not None:
        result = maximum(result, low)
    if high is not None:
        result = minimum(result, high)
    return result.copy() if result is a else result


# -- closeness -----------------------------------------------------------------------------------


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = None, atol: Any = 0, equal_nan: bool = False) -> Bools:
    """Where ``|a - b| <= atol + rtol * |b|``.

    Args:
        a: Numbers.
        b: Numbers, the reference.
        rtol: By default the square root of eps of the precision in which a and b meet.
        atol: 0 by default.
        equal_nan: Whether two nans are close.

    Example:
        >>> import mdla
        >>> third = mdla.array("1/3", prec="qd")
        >>> bool(mdla.isclose(third, 1 / 3)), bool(mdla.isclose(3 * third, 1))
        (False, True)
    """
    (x, y), result, _ = unify(a, b)
    if rtol is None:
        rtol = 2.0 ** (result.eps_exponent // 2)
    left, right = MDArray(x), MDArray(y)
    near = less_equal(abs(left - right), atol + rtol * abs(right)) & isfinite(right)
    near = near | equal(left, right)
    if equal_nan:
        near = near | (isnan(left) & isnan(right))
    return near


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = None, atol: Any = 0, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds everywhere."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Whether both have the same shape and equal entries."""
    a, b = to_array(a), to_array(b)
    if a.shape != b.shape:
        return False
    same = equal(a, b)
    if equal_nan:
        same = same | (isnan(a) & isnan(b))
    return bool(np.all(same))
