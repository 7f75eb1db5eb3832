# SPDX-License-Identifier: BSD-3-Clause
"""Functions of series for objects that stand for series."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["dispatched"]

Function = TypeVar("Function", bound=Callable[..., Any])


def dispatched(function: Function) -> Function:
    """Let an argument with a method ``__series_function__`` take over, as NumPy's protocols do.

    The first argument is asked, or the members of it if it is a list or tuple. The method is given
    the function and its arguments.
    """

    @functools.wraps(function)
    def called(first: Any, *args: Any, **kwargs: Any) -> Any:
        for candidate in first if isinstance(first, (list, tuple)) else (first,):
            method = getattr(candidate, "__series_function__", None)
            if method is not None:
                return method(function, first, *args, **kwargs)
        return function(first, *args, **kwargs)

    return called  # type: ignore[return-value]
