# SPDX-License-Identifier: BSD-3-Clause
"""Square systems of linear equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdla import _native
from mdla.core import planes as _planes
from mdla.core.array import MDArray
from mdla.core.protocols import implements
from mdla.linalg import batched
from mdla.linalg.elimination import ScaledLU
from mdla.linalg.householder import apply_adjoint, factor
from mdla.linalg.inputs import (
    LinAlgError,
    equilibrate,
    read_inputs,
    require_matrix,
    stacked,
    times_power,
    wide_matrices,
)
from mdla.linalg.progress import shown
from mdla.linalg.refine import (
    DOUBLED_FROM,
    PRECISIONS_BY_LIMBS,
    DoubledLU,
    Float64LU,
    Info,
    Refined,
    System,
    Work,
    climb,
    examine,
    largest,
    least_rcond,
    refine,
    require_method,
)
from mdla.linalg.triangular import require_right_side, substitute

__all__ = ["GROWTH", "SINGULAR", "SolveResult", "inv", "solve", "solve_info"]

Planes = npt.NDArray[Any]

# Partial pivoting lets the entries grow by 2^(n-1) at worst and by about n^(2/3) in practice; up to
# this factor, or n if that is more, the backward error is as good as that of reflections.
GROWTH = 16

# Exactly singular matrices have shown reciprocal conditions up to 0.75 eps after rounding (n = 2,
# one limb), and smaller ones the larger n is.
SINGULAR = 4

# What to write instead of a function that needs a regular matrix.
_ADVICE = {"inv": "write mdla.pinv(a) for the pseudo-inverse"}


class SolveResult(NamedTuple):
    """What `solve_info` returns.

    Attributes:
        x: The solution.
        info: An `mdla.linalg.Info`; an array of them for a stack.
    """

    x: MDArray
    info: Any


@implements(np.linalg.solve)
def solve(
    a: Any,
    b: Any,
    *,
    prec: Any = None,
    method: str = "auto",
    check_finite: bool = True,
    progress: bool = False,
) -> MDArray:
    """Solve ``A x = b`` for a square A.

    Rows and columns are scaled by powers of two, and the scaled matrix is factored with partial
    pivoting; by Householder reflections instead where the entries of U grow. The computed x
    satisfies ``(A + E) x = b`` with ``|E| <= c n eps P^T |L| |U|`` in the scaled matrix, and so
    ``||E|| <= c n^2 eps ||A||`` with the growth allowed (N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., theorems 9.4 and 19.5). Stacks of small matrices are worked on
    side by side, in fixed point with digits enough to keep the bound although entries may grow
    ("Stacks of small systems" in the manual).

    Large systems are refined: A is factored with fewer limbs, float64 first, and x is corrected
    with residuals that have more limbs than x, until its last bits agree and the backward error
    is verified (see `solve_info`); where that does not converge more limbs are taken, in the end
    all. Such an x has an error of a few eps, whatever the condition (J. Demmel et al., ACM TOMS 32
    (2006) 325-351), relative to the largest entry when rows and columns are scaled; except in hd,
    where nothing is wider.

    A matrix counts as singular when the reciprocal condition number of the scaled matrix, in the
    1-norm, is below ``4 eps``: then hardly a digit of x would be right, and an error is raised
    instead. This does not depend on the units of the unknowns and equations.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        prec: The precision to compute in; by default the widest of ``a`` and ``b``, and ``"dd"``
            when neither is an MDArray.
        method: ``"direct"`` factors A in the precision of the result, ``"refine"`` tries to do
            with less first, and ``"auto"`` does so where that is predicted to be faster.
        check_finite: Whether to raise ValueError for infinities and nans.
        progress: Whether to show the progress of long work on stderr, by tqdm where it is
            installed.

    Returns:
        x with the shape of b; for stacks the leading axes are broadcast.

    Raises:
        LinAlgError: A is not square, the sizes do not match, or A is singular, exactly or to
            working precision.
        ValueError: The method or precision does not exist, or an operand is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.solve([[4, 1], [2, 3]], [9, 7], prec="qd"))
        [2. 1.]
        >>> mdla.linalg.solve([[1, 2], [2, 4]], [1, 1])
        Traceback (most recent call last):
        ...
        numpy.linalg.LinAlgError: solve: a is singular...
    """
    systems = _Systems("solve", a, b, prec, method, check_finite)
    with shown(progress):
        return systems.deliver(systems.solve())


@implements(np.linalg.inv)
def inv(a: Any, *, prec: Any = None, check_finite: bool = True, progress: bool = False) -> MDArray:
    """The inverse of a square matrix.

    Column j of the computed X solves ``(A + E_j) x_j = e_j`` with E_j small as in `solve`, so
    ``|A X - I| <= c n eps P^T |L| |U| |X|`` in the scaled matrix (N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., section 14.3). To solve a system, write `solve`: it
    is faster and its residual smaller.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        prec: The precision to compute in; by default that of ``a``, and ``"dd"`` when it is no
            MDArray.
        check_finite: Whether to raise ValueError for infinities and nans.
        progress: As in `solve`.

    Returns:
        An array of the shape of a.

    Raises:
        LinAlgError: A is not square, or it is singular in the sense of `solve`.
        ValueError: The precision does not exist, or a is not finite.

    Example:
        >>> import mdla
        >>> print(mdla.linalg.inv([[2, 1], [0, 4]]))
        [[ 0.5   -0.125]
         [ 0.     0.25 ]]
    """
    systems = _Systems("inv", a, None, prec, "auto", check_finite)
    with shown(progress):
        return systems.deliver(systems.solve())


def solve_info(
    a: Any, b: Any, *, prec: Any = None, method: str = "auto", check_finite: bool = True
) -> SolveResult:
    """Solve ``A x = b`` and tell how, and how good the solution is.

    As `solve`, one system of a stack after the other. The backward error ``berr`` is the
    componentwise one, the smallest w with ``(A + E) x = b + f``, ``|E| <= w |A|``, ``|f| <= w |b|``
    (W. Oettli and W. Prager, Numer. Math. 6 (1964) 405-409), from a residual with more limbs than
    x. ``ferr`` bounds ``max |x - exact| / max |exact|`` as far as the factorisation can be trusted:
    it is twice the correction that the residual asks for.

    Args:
        a: A matrix (n, n) or a stack (..., n, n).
        b: A vector (n,), or a matrix or stack of matrices (..., n, k).
        prec: As in `solve`.
        method: As in `solve`.
        check_finite: As in `solve`.

    Returns:
        A named tuple `SolveResult` ``(x, info)``.

    Raises:
        LinAlgError: As in `solve`.
        ValueError: As in `solve`.

    Example:
        >>> import mdla
        >>> A = mdla.array([[4, 1], [2, 3]], prec="qd")
        >>> x, info = mdla.linalg.solve_info(A, [9, 7], method="refine")
        >>> print(x, info.method, info.factorisation)
        [2. 1.] refine d
        >>> bool(info.ferr <= 4 * mdla.finfo("qd").eps)
        True
    """
    systems = _Systems("solve_info", a, b, prec, method, check_finite)
    x = np.empty_like(systems.right)
    infos: Planes = np.empty(x.shape[2], dtype=object)
    for i in range(x.shape[2]):
        one = systems.one(i)
        x[:, :, i] = one.x
        infos[i] = one.info
    return SolveResult(
        systems.deliver(x), infos.reshape(systems.batch) if systems.batch else infos[0]
    )


class _Systems:
    """The arguments, checked, as a stack of systems; without b that of the inverse."""

    matrix: Planes
    right: Planes
    batch: tuple[int, ...]

    def __init__(
        self, function: str, a: Any, b: Any | None, prec: Any, method: str, check_finite: bool
    ) -> None:
        require_method(function, method)
        self.function, self.method = function, method
        given = {"a": a} if b is None else {"a": a, "b": b}
        self.inputs = read_inputs(function, check_finite, prec, **given)
        matrix = self.inputs.planes[0]
        require_matrix(function, "a", matrix, square=True)
        right = _identity_like(matrix) if b is None else self.inputs.planes[1]
        right, self.is_vector = require_right_side(function, matrix, right)
        shapes = _planes.shape_of(matrix)[:-2], _planes.shape_of(right)[:-2]
        self.batch = np.broadcast_shapes(*shapes)
        self.matrix = stacked(matrix, self.batch)
        self.right = stacked(right, self.batch)

    def solve(self) -> Planes:
        """All solutions."""
        apart = np.ones(self.matrix.shape[2], dtype=bool)
        x = np.empty_like(self.right)
        if self.batch and self.method != "refine" and batched.is_small(self.matrix):
            apart = wide_matrices(self.matrix)
            # A mask would copy the stack.
            some: Any = ~apart if apart.any() else slice(None)
            rcond = np.ones(len(apart))
            x[:, :, some], rcond[some] = batched.solve(
                self.matrix[:, :, some], self.right[:, :, some]
            )
            self.require_regular(rcond)
        for i in np.flatnonzero(apart):
            x[:, :, i] = self.one(int(i)).x
        return x

    def one(self, i: int) -> _Solution:
        """The solution of system i."""
        solution = _Solution(self.matrix[:, :, i], self.right[:, :, i], self.method)
        self.require_regular(np.array([solution.rcond]), i)
        return solution

    def require_regular(self, rcond: npt.NDArray[np.float64], first: int = 0) -> None:
        """Raise LinAlgError if a reciprocal condition, from system ``first`` on, is too small."""
        least = SINGULAR * self.inputs.eps
        bad = np.flatnonzero(rcond < least)
        if not len(bad):
            return
        value = rcond[bad[0]]
        place = np.unravel_index(first + bad[0], self.batch) if self.batch else ()
        index = ", ".join(str(int(i)) for i in place)
        which = f"{self.function}: a[{index}]" if index else f"{self.function}: a"
        advice = _ADVICE.get(self.function, "write mdla.lstsq(a, b) for a least-squares solution")
        if value == 0:
            raise LinAlgError(f"{which} is singular; {advice}")
        raise LinAlgError(
            f"{which} is singular to working precision: its reciprocal condition number is about "
            f"{value:.1e}, less than {SINGULAR} eps = {least:.1e} in {self.inputs.result.name}; "
            f"{advice}, or ask for a wider prec if the entries are that exact"
        )

    def deliver(self, x: Planes) -> MDArray:
        """Solutions as users know them."""
        x = x.reshape(*x.shape[:2], *self.batch, *x.shape[3:])
        return self.inputs.deliver(x[..., 0] if self.is_vector else x)


def _identity_like(matrix: Planes) -> Planes:
    n = matrix.shape[-1]
    identity = np.zeros((*matrix.shape[:2], n, n))
    identity[0, 0, range(n), range(n)] = 1
    return identity


class _Solution:
    """The solution of one system A x = b.

    Attributes:
        x: Planes (c, N, n, k); undefined if A is singular.
        rcond: The reciprocal condition number of the scaled matrix, 0 if it is singular.
    """

    x: Planes
    rcond: float
    _found: Refined | None = None

    def __init__(self, a: Planes, b: Planes, method: str) -> None:
        self._a, self._rows, self._columns = equilibrate(a)
        self._b = np.array(b, order="C")
        times_power(self._b, -self._rows)
        _, limbs, order, columns = b.shape
        work = Work.of_square(order, columns)
        finite = np.isfinite(self._a[:, 0]).all() and np.isfinite(self._b[:, 0]).all()
        if not finite or climb(limbs, work, method, self._refine) is None:
            self._solve()

    def _refine(self, limbs: int) -> tuple[Refined | None, float]:
        some = self._a[:, :limbs]
        factor: Any = Float64LU(some) if limbs == 1 else ScaledLU(some.copy())
        if factor.rcond < least_rcond(limbs, self._a.shape[-1]):
            return None, 0.0
        if isinstance(factor, Float64LU) and self._a.shape[1] >= DOUBLED_FROM:
            factor = DoubledLU(self._a, factor)
        found = refine(self._a, self._b, factor)
        if found is not None:
            self._accept(found, factor, limbs)
        return found, factor.rcond

    def _solve(self) -> None:
        factor: Any = ScaledLU(self._a.copy())
        if factor.growth > max(GROWTH, self._a.shape[-1]):
            factor = Reflections(self._a)
        self._factor, self.method, self.steps, self.rcond = factor, "direct", 0, factor.rcond
        self._limbs = factor.limbs
        if self.rcond != 0:  # nan, too, gives what it gives
            self._y = factor.solve(self._b)
            self._deliver()

    def _accept(self, found: Refined, factor: Any, limbs: int) -> None:
        self._factor, self.method, self.steps = factor, "refine", found.steps - 1
        self._limbs = limbs
        self.rcond, self._y, self._found = factor.rcond, found.x, found
        self._deliver()

    def _deliver(self) -> None:
        self.x = self._y.copy()
        times_power(self.x, -self._columns.swapaxes(-1, -2))

    @property
    def info(self) -> Info:
        """What was done."""
        found = self._found
        if found is None:
            found = examine(System(self._a), self._b, self._y, self._factor)
        name = PRECISIONS_BY_LIMBS[self._limbs].name
        ferr = self._in_units_of_x(found.ferr)
        return Info(self.method, name, self.steps, self.rcond, found.berr, ferr)

    def _in_units_of_x(self, ferr: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Errors relative to the largest entry of y, the scaled x, as relative to that of x."""
        y, units = largest(self._y), -self._columns.swapaxes(-1, -2)
        shrunk = self._y[:, :1].copy()
        times_power(shrunk, units - units.max(initial=-(2**30)))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative: npt.NDArray[np.float64] = np.where(y == 0, ferr, ferr * y / largest(shrunk))
        return relative


class Reflections:
    """A factorisation without pivots in which nothing grows, at twice the cost and more."""

    def __init__(self, a: Planes) -> None:
        work = np.array(a, order="C")
        self._reflectors = factor(work, a.shape[-1])
        self._r = work
        self.limbs = int(a.shape[1])
        self.rcond: float = _native.reciprocal_condition(self._r)

    def solve(self, b: Planes) -> Planes:
        """A^-1 b."""
        x = np.array(b, order="C")
        apply_adjoint(self._reflectors, x)
        substitute(self._r, x, lower=False)
        return x
