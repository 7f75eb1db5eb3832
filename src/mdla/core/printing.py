# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and arrays as text.

`format_number` writes the shortest decimal it finds that reads back to the same limbs: it starts
at the digits of the precision and lengthens. A number with few bits but a long decimal expansion
(``1e-300`` lifted from a double to qd has 700 digits) is written as a hexadecimal float, which
`mdla.array` reads as well. Arrays are laid out as NumPy does; ``repr`` quotes every element so
that evaluating it gives the same bits, ``str`` aligns columns of as many significant digits as
the precision has. Nothing is ever shown through a float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .export import to_decimal
from .layout import lay_out, shown_part
from .precision import Precision, precision
from .rounding import FloatArray, dyadic_of_limbs, is_canonical, limbs_of_ratio

_LOG10_2 = math.log10(2)


@dataclass(frozen=True)
class PrintOptions:
    """How arrays are shown.

    Attributes:
        precision: Significant digits of each element; None shows all that the precision has in
            ``str``, and as many as reproduce the bits in ``repr``.
        threshold: Arrays of more elements than this are summarised.
        edgeitems: Elements shown at each end of a summarised axis.
        linewidth: Characters of a line.
    """

    precision: int | None = None
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 75


_DEFAULT = PrintOptions()
_options: ContextVar[PrintOptions] = ContextVar("mdla_print_options", default=_DEFAULT)

_KEEP: Any = object()


def get_printoptions() -> PrintOptions:
    """Return the print options in force, as an immutable record."""
    return _options.get()


def set_printoptions(
    *,
    precision: int | None = _KEEP,
    threshold: int = _KEEP,
    edgeitems: int = _KEEP,
    linewidth: int = _KEEP,
) -> None:
    """Change how arrays are shown; what is not given stays as it is.

    Args:
        precision: Significant digits, or None for all digits of the precision.
        threshold: Arrays of more elements than this are summarised.
        edgeitems: Elements shown at each end of a summarised axis.
        linewidth: Characters of a line.

    Raises:
        ValueError: A value is negative or no integer.

    Example:
        >>> import mdla
        >>> with mdla.printoptions(precision=5):
        ...     print(mdla.array(["1/3", "2/3"], prec="dd"))
        [0.3333 0.6667]
    """
    _options.set(_changed(precision, threshold, edgeitems, linewidth))


@contextmanager
def printoptions(
    *,
    precision: int | None = _KEEP,
    threshold: int = _KEEP,
    edgeitems: int = _KEEP,
    linewidth: int = _KEEP,
) -> Iterator[PrintOptions]:
    """The options of `set_printoptions` for the length of a ``with`` block."""
    token = _options.set(_changed(precision, threshold, edgeitems, linewidth))
    try:
        yield _options.get()
    finally:
        _options.reset(token)


def _changed(digits: Any, threshold: Any, edgeitems: Any, linewidth: Any) -> PrintOptions:
    given = {
        "precision": digits,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    given = {name: value for name, value in given.items() if value is not _KEEP}
    for name, value in given.items():
        least = 1 if name in ("precision", "linewidth") else 0
        if name == "precision" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"print option {name} must be an integer >= {least}, got {value!r}")
    return replace(_options.get(), **given)


# -- one number ----------------------------------------------------------------------------------


def format_number(limbs: Any, prec: Any, digits: int | None = None) -> str:
    """A number as text that `mdla.array` reads.

    Args:
        limbs: The N limbs of a real number, or planes ``(1, N)`` or ``(2, N)``.
        prec: The precision the limbs belong to.
        digits: Significant digits, rounded half to even; None takes as many as are needed for the
            text to read back to the same bits, and at least as many as the precision has where
            the number is not shorter. Limbs that are not the greedy ones of their sum are not
            reproduced by any number; their sum is.

    Raises:
        ValueError: ``digits`` is less than one.

    Example:
        >>> from mdla.core.convert import to_planes
        >>> from mdla.core.printing import format_number
        >>> format_number(to_planes("1/3", "dd"), "dd", digits=20)
        '0.33333333333333333333'
    """
    fmt = precision(prec)
    if digits is not None and digits < 1:
        raise ValueError(f"digits must be at least 1, got {digits}")
    parts = np.asarray(limbs, dtype=np.float64)
    if parts.ndim == 1:
        return _format_real(parts.tolist(), fmt, digits)
    texts = [_format_real(part, fmt, digits) for part in parts.tolist()]
    return texts[0] if len(texts) == 1 else join_complex(*texts)


def array_format(planes: FloatArray, prec: Any, spec: str) -> str:
    """``format`` of an array: a number takes a specification such as ``.40g`` or ``.10f``.

    The digits are those of the exact value, correctly rounded. An empty specification gives
    `array_str`.

    Raises:
        TypeError: The array is not 0-d and the specification is not empty.
        ValueError: The specification is none for floats.
    """
    if not spec:
        return array_str(planes, prec)
    if planes.ndim > 2:
        raise TypeError(
            f"the format {spec!r} is for single numbers; use mdla.printoptions(precision=...) "
            "to show an array"
        )
    values = [to_decimal(part) for part in planes]
    texts = [format(v if v.is_finite() else float(v), spec) for v in values]
    return texts[0] if len(texts) == 1 else join_complex(*texts)


def join_complex(real: str, imag: str) -> str:
    """The text of a complex number from the texts of its parts."""
    return f"{real}{'' if imag[0] in '+-' else '+'}{imag}j"


def _format_real(limbs: list[float], fmt: Precision, digits: int | None) -> str:
    head = limbs[0]
    if not math.isfinite(head):
        return repr(head)
    mantissa, shift = dyadic_of_limbs(limbs)
    if mantissa == 0:
        return "-0.0" if math.copysign(1, head) < 0 else "0.0"
    sign = "-" if mantissa < 0 else ""
    mantissa = abs(mantissa)
    if digits is not None:
        return sign + _spell(*_round_digits(mantissa, shift, digits), digits, pad=digits)
    return sign + _shortest(mantissa, shift, fmt)


def _shortest(mantissa: int, shift: int, fmt: Precision) -> str:
    """A short text that reads back to the greedy limbs of ``mantissa / 2**shift > 0``."""
    zeros = (mantissa & -mantissa).bit_length() - 1
    # Without trailing zeros: an odd mantissa over 2^shift, or an integer.
    drop = min(zeros, shift)
    mantissa, shift = mantissa >> drop, shift - drop
    limit = 2 * fmt.digits + 32
    # n / 2^k with n odd has exactly the digits of n 5^k.
    exact_length = _decimal_length(mantissa * 5**shift) if shift < 4 * limit else 10 * limit
    # A number so small that its tail has faded carries less digits than its format has.
    smallest = -1074 if fmt.dtype.itemsize == 8 else -149
    carried = int((mantissa.bit_length() - shift - smallest) * _LOG10_2)
    start = max(1, min(fmt.digits, carried))
    if exact_length > start:
        limbs = limbs_of_ratio(mantissa, 1 << shift, fmt.limbs, fmt.dtype)
        for digits in _candidates(limbs, fmt, start, faded=carried <= fmt.digits + 3):
            if digits >= exact_length:
                break
            number, exponent = _round_digits(mantissa, shift, digits)
            if _limbs_of_decimal(number, exponent, fmt) == limbs:
                if digits <= limit or digits <= mantissa.bit_length() // 4 + 12:
                    return _spell(number, exponent, fmt.digits)
                return _hexadecimal(mantissa, shift)
    if exact_length <= max(limit, mantissa.bit_length() // 4 + 12):
        return _spell(*_round_digits(mantissa, shift, exact_length), fmt.digits)
    return _hexadecimal(mantissa, shift)


def _candidates(limbs: list[float], fmt: Precision, start: int, faded: bool) -> list[int]:
    """Numbers of digits worth trying, in order, for a number that is longer than them."""
    last = max(i for i, limb in enumerate(limbs) if limb)
    if faded:
        return [start + i for i in range(4)]
    if last + 1 < fmt.limbs:
        # Zeros must stay zeros, which only the exact expansion achieves.
        return []
    bits = math.frexp(limbs[0])[1] - math.frexp(limbs[last])[1] + fmt.limb_bits
    least = max(start, int(bits * _LOG10_2) - 1)
    return [least + i for i in range(5)]


def _limbs_of_decimal(number: int, exponent: int, fmt: Precision) -> list[float]:
    if exponent >= 0:
        return limbs_of_ratio(number * 10**exponent, 1, fmt.limbs, fmt.dtype)
    return limbs_of_ratio(number, 10**-exponent, fmt.limbs, fmt.dtype)


def _decimal_length(number: int) -> int:
    """Digits of a positive integer up to its trailing zeros."""
    return len(_digits_of(number).rstrip("0"))


def _digits_of(number: int) -> str:
    """``str`` for integers of any length; Python's own may refuse long ones."""
    if number.bit_length() < 2000:
        return str(number)
    low = int(number.bit_length() * _LOG10_2) // 2
    high, rest = divmod(number, 10**low)
    return _digits_of(high) + _digits_of(rest).rjust(low, "0")


def _round_digits(mantissa: int, shift: int, digits: int) -> tuple[int, int]:
    """``(number, e)`` with ``number * 10**e`` nearest to ``mantissa / 2**shift``, ties to even.

    The number has as many digits as asked for.
    """
    exponent = math.floor((mantissa.bit_length() - shift) * _LOG10_2) - digits
    while True:
        if exponent >= 0:
            num, den = mantissa, 10**exponent << shift
        else:
            num, den = mantissa * 10**-exponent, 1 << shift
        number, rest = divmod(num, den)
        if 2 * rest > den or (2 * rest == den and number & 1):
            number += 1
        if number < 10**digits:
            return number, exponent
        # The estimate of the exponent is one too small, or rounding up gave a power of ten.
        exponent += 1


def _spell(number: int, exponent: int, places: int, pad: int = 0) -> str:
    """``number * 10**exponent`` in the manner of Python's ``repr``: a point always, e if far.

    Args:
        number: A positive integer.
        exponent: The decimal exponent of its last digit.
        places: Digits that may stand before the point, if they are significant; up to 16 zeros
            may anyway.
        pad: Keep trailing zeros up to this many significant digits.
    """
    text = _digits_of(number)
    point = len(text) + exponent  # the value is 0.text * 10^point
    text = text.rstrip("0").ljust(pad, "0") if pad else text.rstrip("0")
    if -4 < point <= max(16, min(places, len(text))):
        if point <= 0:
            return "0." + "0" * -point + text
        return text[:point].ljust(point, "0") + "." + (text[point:] or "0")
    fraction = "." + text[1:] if len(text) > 1 else ""
    return f"{text[0]}{fraction}e{point - 1:+03d}"


def _hexadecimal(mantissa: int, shift: int) -> str:
    bits = mantissa.bit_length() - 1
    fraction = f"{(mantissa - (1 << bits)) << (-bits % 4):x}" if bits else ""
    fraction = fraction.rjust((bits + 3) // 4, "0").rstrip("0")
    return f"0x1.{fraction or '0'}p{bits - shift:+d}"


# -- arrays --------------------------------------------------------------------------------------


def array_repr(planes: FloatArray, prec: Any) -> str:
    """``repr`` of an array: an expression that gives the same bits.

    A summarised array, or one shown with less digits, is of course not reproduced. Limbs that are
    not the greedy ones of their sum are written one by one.
    """
    fmt = precision(prec)
    options = get_printoptions()
    shape = planes.shape[2:]
    ending = f", prec={fmt.name!r})"
    if 0 in shape:
        if planes.shape[0] == 1 and len(shape) == 1:
            return "mdla.array([]" + ending
        return f"mdla.zeros({shape}{ending[:-1]}{_complex_flag(planes)})"
    summarised = math.prod(shape) > options.threshold
    shown = shown_part(planes, options) if summarised else planes
    if not summarised and options.precision is None and not all_canonical(planes, fmt):
        return _limbs_repr(planes, fmt, options)
    texts = _texts(shown, fmt, options.precision)
    quoted = np.array([f"'{text}'" for text in texts.ravel()], dtype=object).reshape(texts.shape)
    if texts.size > 1:
        width = max(map(len, quoted.ravel()))
        for i, text in enumerate(quoted.flat):
            quoted.flat[i] = text.rjust(width)
    if summarised:
        ending = f", shape={shape}" + ending
    head = "mdla.array("
    body = lay_out(quoted, shape, options, separator=", ", indent=len(head))
    if "\n" not in body and len(head) + len(body) + len(ending) > options.linewidth:
        if len(shape) > 0:
            ending = ",\n" + " " * len(head) + ending[2:]
    elif "\n" in body and len(body) - body.rfind("\n") + len(ending) > options.linewidth:
        ending = ",\n" + " " * len(head) + ending[2:]
    return head + body + ending


def array_str(planes: FloatArray, prec: Any) -> str:
    """``str`` of an array: aligned columns of significant digits; a 0-d array as its number."""
    fmt = precision(prec)
    options = get_printoptions()
    shape = planes.shape[2:]
    if not shape:
        text = format_number(planes, fmt, options.precision)
        # What only hexadecimal digits would reproduce is shown rounded; repr is exact.
        return format_number(planes, fmt, fmt.digits) if "0x" in text else text
    if 0 in shape:
        return "[]"
    summarised = math.prod(shape) > options.threshold
    shown = shown_part(planes, options) if summarised else planes
    digits = options.precision or fmt.digits
    columns = [_aligned(part, digits) for part in shown]
    texts = columns[0]
    if len(columns) == 2:
        pairs = zip(columns[0].ravel(), columns[1].ravel(), strict=True)
        joined = [join_complex(real, imag.strip()) for real, imag in pairs]
        width = max(map(len, joined), default=0)
        texts = np.array([text.ljust(width) for text in joined], dtype=object).reshape(texts.shape)
    return lay_out(texts, shape, options, separator=" ", indent=0)


def all_canonical(planes: FloatArray, fmt: Precision) -> bool:
    """Whether every number of an array consists of the greedy limbs of its sum."""
    numbers = np.moveaxis(planes.astype(np.float64), 1, -1).reshape(-1, fmt.limbs).tolist()
    return all(
        is_canonical(limbs, fmt.dtype) if math.isfinite(limbs[0]) and any(limbs) else True
        for limbs in numbers
    )


def _limbs_repr(planes: FloatArray, fmt: Precision, options: PrintOptions) -> str:
    """The limbs themselves, as exact hexadecimal floats."""
    data = planes[0] if planes.shape[0] == 1 else planes
    # float.fromhex knows inf and nan as well.
    texts = np.array(
        [f"float.fromhex('{value.hex()}')" for value in data.astype(np.float64).ravel().tolist()],
        dtype=object,
    ).reshape(data.shape)
    head = "mdla.from_limbs("
    unlimited = replace(options, threshold=texts.size)
    body = lay_out(texts, data.shape, unlimited, separator=", ", indent=len(head))
    return f"{head}{body}, prec={fmt.name!r}{_complex_flag(planes)})"


def _complex_flag(planes: FloatArray) -> str:
    return "" if planes.shape[0] == 1 else ", complex=True"


def _texts(planes: FloatArray, fmt: Precision, digits: int | None) -> Any:
    shape = planes.shape[2:]
    numbers = np.moveaxis(planes, (0, 1), (-2, -1)).reshape(-1, *planes.shape[:2])
    out = np.empty(len(numbers), dtype=object)
    for i, number in enumerate(numbers):
        out[i] = format_number(number, fmt, digits)
    return out.reshape(shape)


def _aligned(limbs: FloatArray, digits: int) -> Any:
    """Texts of equal width, points below each other, of one part of an array.

    As in NumPy, exponents are used for all numbers or for none: when the largest is beyond 1e16,
    the smallest below 1e-4, or their ratio above 1e8 (a thousand there, for it shows few digits).
    """
    shape = limbs.shape[1:]
    numbers: Sequence[list[float]] = (
        np.moveaxis(limbs.astype(np.float64), 0, -1).reshape(-1, limbs.shape[0]).tolist()
    )
    sizes = [abs(n[0]) for n in numbers if n[0] != 0 and math.isfinite(n[0])]
    largest, smallest = max(sizes, default=1.0), min(sizes, default=1.0)
    scientific = largest >= 1e16 or smallest < 1e-4 or largest / smallest > 1e8
    before = max(1, math.floor(math.log10(largest)) + 1)
    decimals = max(digits - 1 if scientific else digits - before, 0)
    pieces = [_pieces(n, decimals, scientific) for n in numbers]
    left, middle, right = (max((len(p[k]) for p in pieces if p[1]), default=0) for k in range(3))
    # Infinities and nans have no point; they stand at the right end of their column.
    alone = max((len(p[0]) for p in pieces if not p[1]), default=0)
    width = max(left + middle + right, alone)
    out = np.empty(len(pieces), dtype=object)
    for i, (whole, fraction, exponent) in enumerate(pieces):
        # A column of mantissas is filled with zeros, so that the exponents line up.
        tail = fraction.ljust(middle, "0" if scientific else " ") + exponent.ljust(right)
        out[i] = (whole if not fraction else whole.rjust(left) + tail).rjust(width)
    return out.reshape(shape)


def _pieces(limbs: list[float], decimals: int, scientific: bool) -> tuple[str, str, str]:
    """A number as integer part, point with fraction, and exponent."""
    if not math.isfinite(limbs[0]):
        return repr(limbs[0]), "", ""
    # A Decimal zero has an exponent of its own; that of a float is plain.
    value = to_decimal(limbs) if any(limbs) else limbs[0]
    text = format(value, f".{decimals}e" if scientific else f".{decimals}f")
    text, _, exponent = text.partition("e")
    whole, _, fraction = text.partition(".")
    if exponent or scientific:
        exponent = f"e{int(exponent or 0):+03d}"
    return whole, "." + fraction.rstrip("0"), exponent
