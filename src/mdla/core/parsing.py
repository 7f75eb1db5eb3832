# SPDX-License-Identifier: BSD-3-Clause
"""Strings to exact numbers.

Understood are decimals (``-1.25e-30``), hexadecimal floats (``0x1.8p-3``), fractions of integers
(``7/15``), ``inf`` and ``nan``, and complex numbers made of them (``1/3+0.25j``), with the
liberties of Python's own ``float`` and ``complex``: blanks around, capital letters, underscores
between digits, parentheses around a complex number.
"""

from __future__ import annotations

import math
import re

from .rounding import Part, ratio_of_dyadic

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_HEX = r"[0-9a-f]+(?:_[0-9a-f]+)*"
_NUMBER = re.compile(
    rf"""(?P<special>inf(?:inity)?|nan)
    | 0x(?=\.?[0-9a-f]) (?P<hexint>{_HEX})? (?:\.(?P<hexfrac>{_HEX})?)?
        (?:p(?P<hexexp>[+-]?{_DIGITS}))?
    | (?P<num>{_DIGITS}) [ ]* / [ ]* (?P<den>{_DIGITS})
    | (?=\.?[0-9]) (?P<int>{_DIGITS})? (?:\.(?P<frac>{_DIGITS})?)?
        (?:e(?P<exp>[+-]?{_DIGITS}))?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_BLANKS = re.compile(r"[ \t\r\n\f\v]*")

# Python refuses to read more than a few thousand digits at once, because it does so in quadratic
# time; halves of this length are read and joined by one product.
_CHUNK = 500

# Decimal exponents this far out are beyond every limb type, whatever the other digits are.
_RANGE_DIGITS = 400

_HINT = "write for example '1.5', '-2e-30', '7/15', '0x1.8p-3', 'inf', 'nan' or '1+2j'"


def parse_number(text: str) -> tuple[Part, Part | None]:
    """The exact real and imaginary part of a string; the latter is None for a real number.

    Raises:
        ValueError: the string is no number; the message names the position and what to write.
    """
    start, end = _inner_span(text)
    position, sign = _sign(text, start)
    first, position, imaginary = _term(text, position, sign, end)
    if imaginary:
        if position != end:
            raise _unreadable(text, position)
        return 0.0, first
    position = _skip(text, position)
    if position >= end:
        return first, None
    if text[position] not in "+-":
        raise _unreadable(text, position)
    sign = -1 if text[position] == "-" else 1
    second, after, imaginary = _term(text, _skip(text, position + 1), sign, end)
    if not imaginary or after != end:
        raise _unreadable(text, after, "expected 'j'" if not imaginary else None)
    return first, second


def integer_of_digits(digits: str, base: int = 10) -> int:
    """The integer written by a string of digits of any length."""
    if len(digits) <= _CHUNK:
        return int(digits, base)
    low = len(digits) // 2
    high = integer_of_digits(digits[:-low], base)
    power: int = base**low
    return high * power + integer_of_digits(digits[-low:], base)


def _skip(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _inner_span(text: str) -> tuple[int, int]:
    """Start and end of the text without surrounding blanks and one pair of parentheses."""
    start, end = _skip(text, 0), len(text.rstrip(" \t\r\n\f\v"))
    if start < end and text[start] == "(" and text[end - 1] == ")":
        start = _skip(text, start + 1)
        end = start + len(text[start : end - 1].rstrip(" \t\r\n\f\v"))
    if start >= end:
        raise _unreadable(text, start, "nothing there")
    return start, end


def _sign(text: str, position: int) -> tuple[int, int]:
    if text[position] == "-":
        return position + 1, -1
    return position + (text[position] == "+"), 1


def _term(text: str, position: int, sign: int, end: int) -> tuple[Part, int, bool]:
    """Read one unsigned number and an optional j: its value, where it ends, whether imaginary."""
    match = _NUMBER.match(text, position, end)
    if match is None:
        # A bare j stands for the imaginary unit.
        if position < end and text[position] in "jJ":
            return float(sign), position + 1, True
        raise _unreadable(text, position)
    position = match.end()
    if match["den"] is not None and not match["den"].strip("0_"):
        raise _unreadable(text, match.start("den"), "the denominator is zero")
    value = _value(match, sign)
    if position < end and text[position] in "jJ":
        return value, position + 1, True
    return value, position, False


def _value(match: re.Match[str], sign: int) -> Part:
    if match["special"]:
        return math.copysign(math.nan if match["special"][0] in "nN" else math.inf, sign)
    if match["den"]:
        num, den = (integer_of_digits(match[k].replace("_", "")) for k in ("num", "den"))
        return (sign * num, den) if num else math.copysign(0.0, sign)
    if match["hexint"] is not None or match["hexfrac"] is not None:
        whole, fraction, exponent = _fields(match, "hexint", "hexfrac", "hexexp")
        mantissa = integer_of_digits(whole + fraction, 16)
        if mantissa == 0:
            return math.copysign(0.0, sign)
        return ratio_of_dyadic(sign * mantissa, exponent - 4 * len(fraction))
    whole, fraction, exponent = _fields(match, "int", "frac", "exp")
    digits = (whole + fraction).lstrip("0")
    exponent -= len(fraction)
    if not digits or len(digits) + exponent < -_RANGE_DIGITS:
        return math.copysign(0.0, sign)
    if len(digits) + exponent > _RANGE_DIGITS:
        return math.copysign(math.inf, sign)
    mantissa = sign * integer_of_digits(digits)
    return (mantissa * 10**exponent, 1) if exponent >= 0 else (mantissa, 10**-exponent)


def _fields(match: re.Match[str], whole: str, fraction: str, exp: str) -> tuple[str, str, int]:
    """Digits before and after the point, and the exponent as an integer of harmless size."""
    text = (match[exp] or "0").replace("_", "")
    size = text.lstrip("+-").lstrip("0") or "0"
    # An exponent of more digits than the string could ever make up for is as good as infinite.
    magnitude = int(size) if len(size) <= 18 else 10**18
    before = (match[whole] or "").replace("_", "")
    after = (match[fraction] or "").replace("_", "")
    return before, after, -magnitude if text.startswith("-") else magnitude


def _unreadable(text: str, position: int, reason: str | None = None) -> ValueError:
    shown = repr(text if len(text) <= 60 else f"{text[:40]}...{text[-15:]}")
    if reason is None:
        reason = (
            f"unexpected {text[position]!r}" if position < len(text) else "the string ends early"
        )
    return ValueError(f"cannot read {shown} as a number: {reason} at position {position}; {_HINT}")
