# SPDX-License-Identifier: BSD-3-Clause
"""Saving arrays to .npz files and loading them, bit for bit.

The file is a plain NumPy archive: for an array called ``x`` the planes ``x.planes`` and the
precision's name ``x.prec``, besides ``mdla_format``, the version of this layout. It holds no
pickled objects.
"""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from mdla.core.array import MDArray
from mdla.core.operands import to_array
from mdla.core.planes import is_normalised
from mdla.core.precision import precision

__all__ = ["load", "save"]

_FORMAT = 1

# The name of an array that was saved without one.
_UNNAMED = "array"

File = str | os.PathLike[str] | IO[bytes]


def save(file: File, array: Any = None, **arrays: Any) -> None:
    """Save one array, or several by name, without loss.

    Args:
        file: A path, to which NumPy appends ``.npz`` where it is missing, or a binary file.
        array: The array to save without a name.
        arrays: Arrays to save by name.

    Raises:
        ValueError: There is nothing to save, or both forms were mixed.

    Example:
        >>> import io, mdla
        >>> file = io.BytesIO()
        >>> mdla.save(file, x=mdla.array("0.1", "qd"), y=mdla.zeros(2))
        >>> _ = file.seek(0)
        >>> mdla.load(file)["x"].prec
        'qd'
    """
    if (array is None) == (not arrays):
        raise ValueError("give one array to save, or several by name: save(file, x=..., y=...)")
    named = {_UNNAMED: array} if array is not None else arrays
    entries: dict[str, Any] = {"mdla_format": np.int64(_FORMAT)}
    for name, value in named.items():
        value = to_array(value)
        entries[f"{name}.planes"] = np.ascontiguousarray(value.planes)
        entries[f"{name}.prec"] = np.str_(value.prec)
    np.savez(file, **entries)


def load(file: File) -> Any:
    """Load what `save` wrote: the array, or a dict of the arrays by name.

    Raises:
        ValueError: The file was not written by `save`, or by a newer version of it.
        FileNotFoundError: There is no such file.
    """
    archive = np.load(file, allow_pickle=False)
    if isinstance(archive, np.ndarray) or "mdla_format" not in archive:
        raise ValueError(f"{file!r} was not written by mdla.save; read it with numpy.load")
    with archive:
        version = int(archive["mdla_format"])
        if version > _FORMAT:
            raise ValueError(f"{file!r} has format {version}, this mdla reads up to {_FORMAT}")
        names = [key.removesuffix(".prec") for key in archive.files if key.endswith(".prec")]
        arrays = {name: _read(archive, name) for name in names}
    return arrays[_UNNAMED] if list(arrays) == [_UNNAMED] else arrays


def _read(archive: Any, name: str) -> MDArray:
    prec = precision(str(archive[f"{name}.prec"]))
    planes = archive[f"{name}.planes"]
    array = MDArray(planes)
    if array.precision != prec or not is_normalised(planes):
        raise ValueError(f"the file is damaged: {name!r} is no array of precision {prec}")
    return array
