# SPDX-License-Identifier: BSD-3-Clause
"""The tables through which NumPy calls, operators and methods reach mdla's functions.

One table says which mdla function answers which NumPy function. Modules fill it with `implements`
where they define the function; `MDArray` looks it up for its operators and methods, and NumPy
through ``__array_ufunc__`` and ``__array_function__``. So the array class needs no import of
anything above it, and what is not in the table raises TypeError: no call ever falls back to
float64.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "FUNCTIONS",
    "UnknownOperandError",
    "array_function",
    "array_ufunc",
    "implements",
    "is_foreign",
    "lookup",
]

_F = TypeVar("_F", bound=Callable[..., Any])

#: NumPy function or ufunc -> mdla function with the same leading arguments.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


class UnknownOperandError(TypeError):
    """An operand is of a type mdla does not know; an operator then lets the other side try."""


# What ``ufunc.reduce`` and ``ufunc.accumulate`` mean, as NumPy functions in the table.
_REDUCE: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.minimum: np.min,
    np.maximum: np.max,
}
_ACCUMULATE: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}

# Keywords that NumPy passes along with values that ask for nothing.
_NEUTRAL: dict[str, Any] = {"where": True, "casting": "same_kind", "order": "K", "subok": True}


def implements(*numpy_functions: Any) -> Callable[[_F], _F]:
    """Decorator: this mdla function answers the given NumPy functions or ufuncs.

    Example:
        >>> import numpy as np
        >>> from mdla.core.protocols import implements
        >>> @implements(np.i0)  # doctest: +SKIP
        ... def i0(x): ...
    """

    def register(function: _F) -> _F:
        for numpy_function in numpy_functions:
            FUNCTIONS[numpy_function] = function
        return function

    return register


def lookup(numpy_function: Any) -> Callable[..., Any]:
    """Return the mdla function that answers a NumPy function.

    Raises:
        TypeError: mdla has no such function.
    """
    found = FUNCTIONS.get(numpy_function)
    if found is None:
        raise TypeError(_unsupported(_name(numpy_function)))
    return found


def is_foreign(obj: Any, array_type: type) -> bool:
    """Whether an operand belongs to a library that handles MDArrays itself, such as Dask."""
    kind = type(obj)
    if issubclass(kind, (array_type, np.generic)):
        return False
    if issubclass(kind, np.ndarray):
        return kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
    return hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")


# Libraries that were told about MDArray.
_introduced: set[str] = set()


def introduce(kind: type, array_type: type) -> bool:
    """Tell Dask, where a type comes from it, that MDArrays may be its chunks.

    Dask refuses to compute with types that it was not told about.

    Returns:
        Whether that was news, so that a refused operation deserves another try.
    """
    library = kind.__module__.partition(".")[0]
    if library != "dask" or library in _introduced:
        return False
    importlib.import_module("dask.array").register_chunk_type(array_type)
    _introduced.add(library)
    return True


def array_ufunc(
    array_type: type, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Answer ``MDArray.__array_ufunc__``."""
    out = kwargs.pop("out", ())
    if any(is_foreign(x, array_type) for x in (*inputs, *out)):
        if any([introduce(type(x), array_type) for x in inputs]):
            return getattr(ufunc, method)(*inputs, **kwargs, **({"out": out} if out else {}))
        return NotImplemented
    name = ufunc.__name__
    if method == "__call__":
        function = lookup(ufunc)
    elif method == "reduce" and ufunc in _REDUCE:
        function = lookup(_REDUCE[ufunc])
        # A ufunc reduces its first axis by default, a NumPy function all of them.
        if len(inputs) == 1:
            kwargs.setdefault("axis", 0)
    elif method == "accumulate" and ufunc in _ACCUMULATE:
        function = lookup(_ACCUMULATE[ufunc])
        if len(inputs) == 1:
            kwargs.setdefault("axis", 0)
    else:
        raise TypeError(_unsupported(f"{name}.{method}"))
    _check_out(out, array_type)
    result = _call(function, name if method == "__call__" else f"{name}.{method}", inputs, kwargs)
    return _deliver(result, out)


def array_function(
    array_type: type,
    function: Any,
    types: Iterable[type],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Answer ``MDArray.__array_function__``."""
    for kind in types:
        if not issubclass(kind, (array_type, np.ndarray, np.generic)):
            return function(*args, **kwargs) if introduce(kind, array_type) else NotImplemented
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    targets = () if out is None else (out,)
    _check_out(targets, array_type)
    return _deliver(_call(lookup(function), _name(function), args, kwargs), targets)


def _call(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call an mdla function with NumPy's keywords, refusing those it does not have."""
    for key, neutral in _NEUTRAL.items():
        if key in kwargs and kwargs[key] is neutral:
            del kwargs[key]
    # NumPy's own placeholder for "not given", and the dtype that mdla arrays report.
    for key in [k for k, v in kwargs.items() if v is np._NoValue]:
        del kwargs[key]
    if "dtype" in kwargs and (kwargs["dtype"] is None or kwargs["dtype"] == np.dtype(object)):
        del kwargs["dtype"]
    names = function.__code__.co_varnames[
        : function.__code__.co_argcount + function.__code__.co_kwonlyargcount
    ]
    unknown = [key for key in kwargs if key not in names]
    if unknown:
        raise TypeError(
            f"{name} on an MDArray does not take {', '.join(f'{k}=' for k in unknown)}; "
            f"it takes {', '.join(names)}"
        )
    return function(*args, **kwargs)


def _check_out(out: tuple[Any, ...], array_type: type) -> None:
    for target in out:
        if target is None or isinstance(target, array_type):
            continue
        if isinstance(target, np.ndarray) and target.dtype == np.bool_:
            continue
        what = getattr(target, "dtype", type(target).__name__)
        raise TypeError(
            f"out= must be an MDArray, got {what}: it would drop limbs; "
            "write out=mdla.empty_like(a), or convert the result with to_numpy()"
        )


def _deliver(result: Any, out: tuple[Any, ...]) -> Any:
    """Write results into ``out=`` arrays, never into a narrower one."""
    if not out or all(target is None for target in out):
        return result
    results = result if isinstance(result, tuple) else (result,)
    delivered = tuple(_write(r, t) for r, t in zip(results, out, strict=True))
    return delivered if isinstance(result, tuple) else delivered[0]


def _write(result: Any, target: Any) -> Any:
    if target is None:
        return result
    have, want = getattr(target, "precision", None), getattr(result, "precision", None)
    if (have is None) != (want is None):
        kind = "an MDArray" if want is not None else "a NumPy array of bool"
        raise TypeError(f"out= must be {kind} for this result, got {type(target).__name__}")
    if have is not None and want is not None and have.eps_exponent > want.eps_exponent:
        raise TypeError(f"out= has precision {have}, the result {want}: it would drop limbs")
    if target.shape != np.broadcast_shapes(target.shape, result.shape):
        raise ValueError(f"out= has shape {target.shape}, the result {result.shape}")
    target[...] = result
    return target


def _name(function: Any) -> str:
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def _unsupported(name: str) -> str:
    return (
        f"{name} is not supported on MDArray; use a function of mdla, or convert explicitly "
        "with a.to_numpy(), which rounds to float64"
    )
