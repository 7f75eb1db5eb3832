# SPDX-License-Identifier: BSD-3-Clause
"""Systems of polynomials in several variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.operands import DEFAULT
from mdla.core.precision import from_layout, precision
from mdla.linalg.inputs import read_inputs
from mdla.poly import inputs, sweep
from mdla.poly.evaluation import Task, sweep_points, sweep_series
from mdla.poly.sweep import Constant, Program
from mdla.poly.terms import Terms
from mdla.series import Series

__all__ = ["EvaluationResult", "PolynomialSystem"]

Planes = npt.NDArray[Any]


class EvaluationResult(NamedTuple):
    """What `PolynomialSystem.evaluate_and_jacobian` returns.

    Attributes:
        value: The values of the m polynomials, shape ``(..., m)``: an array, or a `Series`.
        jacobian: Their derivatives by the n variables, shape ``(..., m, n)``, likewise.
    """

    value: Any
    jacobian: Any


class PolynomialSystem(Terms):
    """Polynomials ``p_k(x) = sum_e c_ke x_1^e_1 ... x_n^e_n``, k = 1, ..., m, in n variables.

    Coefficients are read exactly, like terms are collected, and each sum is rounded once to the
    precision of the system. A system does not change; it can be compared, hashed and pickled, and
    ``PolynomialSystem(str(s), prec=s.prec) == s``.

    Values and derivatives come from one sweep in which products of variables are shared between
    monomials, polynomials and derivatives: the products of all variables of a monomial but one are
    those of a prefix and a suffix, the reverse mode for Speelpenning's product (J. Verschelde,
    arXiv 2101.10881). Many points go side by side through the lanes of vectors and over threads; a
    point gives the same bits in every batch and with any number of threads.

    With t the number of terms of a polynomial and d its degree, the computed value and derivatives
    satisfy ::

        |value - p(x)| <= g sum_e |c_e| |x|^e
        |derivative - dp/dx_j| <= g sum_e |c_e| e_j |x|^(e - 1_j)

    with ``g = (t + d) eps`` for real and ``g = 2.5 (t + d) eps`` for complex numbers, up to terms
    of order eps^2, for the coefficients as they are stored: a monomial is a product of at most d
    factors and a coefficient, whatever the order, and the terms are summed one after the other.
    At points whose coordinates are power series, truncated after t^q, the same holds for each
    coefficient of t^k with that of t^k on the right, where ``|x|`` is the series of the moduli, and
    with ``t + d (k + 2)`` in place of ``t + d``; t^0 has the value at a point up to rounding.
    This holds as long as no product leaves the range of doubles (see ``mdla.finfo``); infinities
    and nans propagate as in IEEE arithmetic.

    Args:
        polynomials: A string with polynomials that are separated by semicolons; or a sequence of
            polynomials, each a string or a mapping from exponents (one nonnegative integer for each
            variable) to coefficients, which are numbers as `mdla.array` takes them. Strings are in
            PHCpack's format: terms with ``+ - * / ^`` (or ``**``), decimals and fractions taken
            exactly, ``i`` or ``I`` for the imaginary unit, products and powers of sums in
            parentheses, which are multiplied out exactly; a first line may have the numbers of
            polynomials and of variables.
        prec: The precision of the coefficients; by default that of the arrays among them, else
            ``"dd"``.
        variables: The names of the variables. By default those of strings, as they first occur, and
            ``x1, x2, ...`` for mappings.

    Raises:
        ValueError: A string cannot be read (the message says where, and what was expected), an
            exponent is no nonnegative integer, polynomials have different numbers of variables, a
            coefficient is not finite or beyond the range of doubles, a degree is larger than
            2**20, or a product of sums has too many terms.
        TypeError: Something is neither a string nor a mapping, or a coefficient is no number.

    Example:
        >>> import mdla
        >>> s = mdla.PolynomialSystem("x^2 + y^2 - 1; x*y - 1/8;", prec="qd")
        >>> s.variables, s.degrees, s.total_degree
        (('x', 'y'), (2, 2), 4)
        >>> value, jacobian = s.evaluate_and_jacobian([0.5, 0.25])
        >>> value.to_numpy()
        array([-0.6875,  0.    ])
        >>> jacobian.to_numpy()
        array([[1.  , 0.5 ],
               [0.25, 0.5 ]])
    """

    __slots__ = ()

    def __init__(
        self,
        polynomials: str | Iterable[str | Mapping[Any, Any]],
        prec: Any = None,
        *,
        variables: Iterable[str] | None = None,
    ) -> None:
        wanted = None if prec is None else precision(prec)
        terms, names, carried = inputs.read_polynomials(polynomials, variables)
        self._set(terms, names, wanted or carried or DEFAULT)

    @classmethod
    def from_supports(
        cls,
        supports: Iterable[Any],
        coefficients: Iterable[Any],
        prec: Any = None,
        *,
        variables: Iterable[str] | None = None,
    ) -> PolynomialSystem:
        """The system with given exponents and coefficients.

        Args:
            supports: For each polynomial an array of integers of shape ``(t, n)``, a row of
                exponents for each term.
            coefficients: For each polynomial the t coefficients, an array or a list.
            prec: As for `PolynomialSystem`.
            variables: Likewise.

        Raises:
            ValueError: Shapes do not match, or as for `PolynomialSystem`.
            TypeError: Exponents are no integers, or coefficients no numbers.

        Example:
            >>> import mdla
            >>> supports = [[[2, 0], [0, 0]], [[1, 1]]]
            >>> print(mdla.PolynomialSystem.from_supports(supports, [[1, -3], ["0.5"]]))
            x1^2 - 3;
            0.5*x1*x2;
        """
        wanted = None if prec is None else precision(prec)
        terms, names, carried = inputs.read_supports(supports, coefficients, variables)
        system = cls.__new__(cls)
        system._set(terms, names, wanted or carried or DEFAULT)
        return system

    def majorant(self) -> PolynomialSystem:
        """The system ``sum_e |c_e| x^e`` in float64, which bounds values and rounding errors.

        Example:
            >>> import mdla
            >>> print(mdla.PolynomialSystem("x^2 - 3*i*x - 0.5;").majorant())
            x^2 + 3*x + 0.5;
        """
        sizes = [np.abs(c.to_numpy()) for c in self.coefficients]
        return self.from_supports(self.supports, sizes, "d", variables=self._variables)

    # -- evaluation --------------------------------------------------------------------------------

    @overload
    def evaluate(self, x: Series, *, prec: Any = None) -> Series: ...
    @overload
    def evaluate(self, x: Any, *, prec: Any = None) -> MDArray: ...
    def evaluate(self, x: Any, *, prec: Any = None) -> MDArray | Series:
        """The values ``p_k(x)`` of all polynomials.

        Args:
            x: A point, shape ``(n,)``, or points, shape ``(..., n)``, real or complex; or a
                `mdla.series.Series` of such a shape.
            prec: The precision to compute in, points and coefficients rounded to it; by default the
                wider of theirs.

        Returns:
            Shape ``(m,)`` or ``(..., m)``, with the error bound of `PolynomialSystem`; a `Series`
            of the same degree for a `Series`.

        Raises:
            ValueError: The last axis of ``x`` is not as long as there are variables, or no
                precision has that name.
            TypeError: ``x`` is no array of numbers.

        Example:
            >>> import mdla
            >>> s = mdla.PolynomialSystem(["x^2 - y", "x + y - 2"])
            >>> s.evaluate([[1, 1], [2, 1]]).to_numpy()
            array([[0., 0.],
                   [3., 1.]])
            >>> t = mdla.series.variable(3, prec="dd")
            >>> s.evaluate(mdla.series.stack([1 + t, 1 - t])).coefficients.to_numpy()
            array([[0., 3., 1., 0.],
                   [0., 0., 0., 0.]])
        """
        value: MDArray | Series = self._sweep("evaluate", x, prec, derivatives=False).value
        return value

    @overload
    def jacobian(self, x: Series, *, prec: Any = None) -> Series: ...
    @overload
    def jacobian(self, x: Any, *, prec: Any = None) -> MDArray: ...
    def jacobian(self, x: Any, *, prec: Any = None) -> MDArray | Series:
        """The derivatives of all polynomials by all variables, ``J[k, j] = dp_k / dx_j``.

        Args and errors are those of `evaluate`.

        Returns:
            Shape ``(m, n)`` or ``(..., m, n)``.

        Example:
            >>> import mdla
            >>> mdla.PolynomialSystem(["x^2 - y", "x + y - 2"]).jacobian([3, 1]).to_numpy()
            array([[ 6., -1.],
                   [ 1.,  1.]])
        """
        jacobian: MDArray | Series = self._sweep("jacobian", x, prec, derivatives=True).jacobian
        return jacobian

    def evaluate_and_jacobian(self, x: Any, *, prec: Any = None) -> EvaluationResult:
        """Values and derivatives in one sweep.

        Args and errors are those of `evaluate`.

        Returns:
            ``value``, shape ``(..., m)``, and ``jacobian``, shape ``(..., m, n)``.

        Example:
            >>> import mdla
            >>> s = mdla.PolynomialSystem(["x^3*y", "x + i*y"])
            >>> s.evaluate_and_jacobian([2, 1]).value.to_numpy()
            array([8.+0.j, 2.+1.j])
        """
        return self._sweep("evaluate_and_jacobian", x, prec, derivatives=True)

    def _sweep(self, function: str, x: Any, prec: Any, derivatives: bool) -> EvaluationResult:
        """Values, and a Jacobian that is empty where derivatives are not asked for."""
        coefficients = x.coefficients if isinstance(x, Series) else x
        read = read_inputs(
            function, False, prec, x=coefficients, coefficients=MDArray(self._coefficients)
        )
        points = read.planes[0]
        n = self.shape[1]
        shape = _planes.shape_of(points)[:-1] if isinstance(x, Series) else _planes.shape_of(points)
        if not shape or shape[-1] != n:
            raise ValueError(
                f"{function}: the last axis of x must have length {n}, one coordinate for each of "
                f"{_shown(self._variables)}; got shape {shape}"
            )
        columns = n if derivatives else 0
        task = self.sweep_task(derivatives, points.shape[1])
        if isinstance(x, Series):
            value, slopes = sweep_series(task, points)
            slopes = slopes.reshape(*value.shape[:-1], columns, value.shape[-1])
            return EvaluationResult(Series(read.deliver(value)), Series(read.deliver(slopes)))
        value, slopes = sweep_points(task, points)
        slopes = slopes.reshape(*value.shape, columns)
        return EvaluationResult(read.deliver(value), read.deliver(slopes))

    def sweep_task(self, derivatives: bool, limbs: int) -> Task:
        """What `mdla.poly.evaluation` needs to run the system on planes of so many limbs.

        Example:
            >>> import mdla
            >>> mdla.PolynomialSystem("x^2 - y; x + y;").sweep_task(True, limbs=4).derivatives
            4
        """
        m, n = self.shape
        constants = self._rounded_constants(derivatives, limbs)
        return Task(self._program(derivatives), constants, m, m * n if derivatives else 0)

    def _program(self, derivatives: bool) -> Program:
        program = self._programs.get(derivatives)
        if program is None:
            m, n = self.shape
            if derivatives and m * (n + 1) >= 1 << 31:
                raise ValueError(
                    f"the Jacobian of {m} polynomials in {n} variables has 2^31 entries or more; "
                    "differentiate parts of the system"
                )
            # Constants first, so that a sum begins with the number that would need a slot.
            ascending = [terms[::-1] for terms in self._terms()]
            program = sweep.compile_program(ascending, len(self._variables), derivatives)
            self._programs[derivatives] = program
        return program

    def _rounded_constants(self, derivatives: bool, limbs: int) -> Planes:
        """The constants of a program with as many limbs as are computed with."""
        found = self._constants.get((derivatives, limbs))
        if found is None:
            exact = self._program(derivatives).constants
            found = inputs.rounded(exact, from_layout(limbs, np.float64))
            self._constants[derivatives, limbs] = found
        return found

    # -- any objects -------------------------------------------------------------------------------

    def evaluate_generic(
        self, x: Iterable[Any], one: Any, coefficient: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        """The values at a point whose coordinates are any objects with ``+``, ``-`` and ``*``.

        The objects may be power series, intervals, Fractions, matrices that commute; the products
        are those that `evaluate` forms, in the same order.

        Args:
            x: The n objects.
            one: The object one: constants c enter sums as ``one * c``.
            coefficient: Makes a factor for ``object * factor`` of a constant. It is given an int
                where the constant is an integer of one double, a float where it is another double,
                else a 0-d MDArray; by default it is taken as it is.

        Returns:
            m objects.

        Raises:
            ValueError: There are not as many objects as variables.

        Example:
            >>> import mdla
            >>> from fractions import Fraction
            >>> s = mdla.PolynomialSystem("x^2 + 3*x*y - 1;")
            >>> s.evaluate_generic([Fraction(1, 3), Fraction(1, 2)], Fraction(1))
            [Fraction(-7, 18)]
        """
        return self._run("evaluate_generic", x, one, coefficient, derivatives=False)

    def evaluate_and_jacobian_generic(
        self, x: Iterable[Any], one: Any, coefficient: Callable[[Any], Any] | None = None
    ) -> EvaluationResult:
        """Values and derivatives at any objects, see `evaluate_generic`, in one sweep.

        Returns:
            ``value``, a list of m objects, and ``jacobian``, m lists of n objects; ``one * 0`` for
            derivatives that vanish identically.

        Example:
            >>> import mdla
            >>> mdla.PolynomialSystem("x^2*y;").evaluate_and_jacobian_generic([3, 5], 1).jacobian
            [[30, 9]]
        """
        results = self._run("evaluate_and_jacobian_generic", x, one, coefficient, derivatives=True)
        m, n = self.shape
        slopes = results[m:]
        return EvaluationResult(results[:m], [slopes[k * n : (k + 1) * n] for k in range(m)])

    def _run(
        self,
        function: str,
        x: Iterable[Any],
        one: Any,
        coefficient: Callable[[Any], Any] | None,
        derivatives: bool,
    ) -> list[Any]:
        point = list(x)
        m, n = self.shape
        if len(point) != n:
            raise ValueError(
                f"{function}: x must have {n} objects, one for each of "
                f"{_shown(self._variables)}; got {len(point)}"
            )
        take = coefficient or (lambda number: number)
        zero = one * take(0)
        results = [zero] * (m * (n + 1) if derivatives else m)
        return sweep.run(
            self._program(derivatives),
            point,
            one,
            results,
            lambda c: take(self._python_number(c)),
        )

    def _python_number(self, constant: Constant) -> Any:
        real, imag = constant
        if not imag and sweep.is_double(real):
            return int(real) if real.denominator == 1 else float(real)
        return MDArray(inputs.rounded([constant], self._precision)[:, :, 0])


def _shown(variables: Sequence[str]) -> str:
    text = ", ".join(variables[:8])
    return f"the variables {text}{', ...' if len(variables) > 8 else ''}"
