# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of the native stages: residues in memory, and calls of one stage each."""

from __future__ import annotations

import numpy as np

from mdla import _native
from mdla.gemm.residue_tables import constants, words_for

# As residue_ops.hpp has it.
LANES, CHUNK, UNIT = 32, 512, 64


def aligned(size, fill=0):
    """Memory that begins at a multiple of 64 bytes."""
    room = np.full(size + 64, fill, np.int8)
    start = -room.ctypes.data % 64
    return room[start : start + size]


def up(n, unit):
    return -(-n // unit) * unit


def operand_planes(forms):
    return forms.byte_count + 3 * (len(forms.moduli) - forms.byte_count)


def _blocks(forms, lanes, steps):
    """Where each chunk of each plane begins, its length, and the bytes from plane to plane."""
    size = _native.residue_operand_bytes(forms.native, lanes, steps)
    plane = size // operand_planes(forms)
    padded = up(lanes, LANES)
    for k in range(0, steps, CHUNK):
        length = min(CHUNK, up(steps, UNIT) - k)
        yield k, padded * k, padded * length, length, plane


def pack(planes, forms, columns):
    """Small integers (planes, lanes, steps) as an operand in memory."""
    _, lanes, steps = planes.shape
    out = aligned(_native.residue_operand_bytes(forms.native, lanes, steps))
    full = np.zeros((len(planes), up(lanes, LANES), up(steps, UNIT)), np.int8)
    full[:, :lanes, :steps] = planes
    for k, first, count, length, plane in _blocks(forms, lanes, steps):
        x = full[:, :, k : k + length].reshape(len(planes), -1, 2, 16, length // UNIT, UNIT)
        x = x.transpose(0, 1, 4, 2, 3, 5)  # panel, 64 steps, tile, row, step
        if columns:
            x = x.reshape(*x.shape[:-1], 16, 4).transpose(0, 1, 2, 3, 5, 4, 6)
        for p, values in enumerate(x):
            out[p * plane + first :][:count] = values.ravel()
    return out


def unpack(operand, forms, lanes, steps, columns):
    """An operand in memory as small integers (planes, lanes, steps)."""
    count = operand_planes(forms)
    full = np.zeros((count, up(lanes, LANES), up(steps, UNIT)), np.int8)
    for k, first, size, length, plane in _blocks(forms, lanes, steps):
        for p in range(count):
            x = operand[p * plane + first :][:size]
            if columns:
                x = x.reshape(-1, length // UNIT, 2, 16, 16, 4).transpose(0, 1, 2, 4, 3, 5)
            x = x.reshape(-1, length // UNIT, 2, 16, UNIT).transpose(0, 2, 3, 1, 4)
            full[p, :, k : k + length] = x.reshape(full.shape[1], length)
    return full[:, :lanes, :steps]


def _product_planes(forms, rows, columns):
    """Where each plane begins, and the bytes of its entries."""
    m, n = up(rows, LANES), up(columns, LANES)
    pairs = len(forms.moduli) - forms.byte_count
    size = _native.residue_product_bytes(forms.native, rows, columns)
    plane = size // (forms.byte_count + 2 * pairs)
    for i in range(len(forms.moduli)):
        before = max(0, i - forms.byte_count)
        wide = i >= forms.byte_count
        yield (i + before) * plane, m * n * (2 if wide else 1), np.int16 if wide else np.int8


def pack_product(residues, forms):
    """Residues (forms, rows, columns) of a product in memory."""
    _, rows, columns = residues.shape
    out = aligned(_native.residue_product_bytes(forms.native, rows, columns))
    full = np.zeros((len(residues), up(rows, LANES), up(columns, LANES)), np.int64)
    full[:, :rows, :columns] = residues
    for x, (first, size, kind) in zip(full, _product_planes(forms, rows, columns), strict=True):
        tiles = x.reshape(-1, LANES, x.shape[1] // LANES, LANES).transpose(0, 2, 1, 3)
        out[first : first + size].view(kind)[:] = tiles.ravel()
    return out


def unpack_product(product, forms, rows, columns):
    """A product in memory as residues (forms, rows, columns)."""
    m, n = up(rows, LANES), up(columns, LANES)
    planes = []
    for first, size, kind in _product_planes(forms, rows, columns):
        x = product[first : first + size].view(kind).astype(np.int64)
        planes.append(x.reshape(m // LANES, n // LANES, LANES, LANES).transpose(0, 2, 1, 3))
    return np.array(planes).reshape(-1, m, n)[:, :rows, :columns]


def convert(engine, planes, exponents, bits, forms, columns, conjugated=False):
    """Planes (c, N, lanes, steps) -> residues in memory."""
    words = words_for(bits)
    out = aligned(_native.residue_operand_bytes(forms.native, *planes.shape[2:]))
    _native.residue_convert(
        engine,
        columns,
        planes,
        np.asarray(exponents, np.int32),
        bits,
        words,
        constants(forms, words, conjugated),
        forms.native,
        out,
    )
    return out


def product_of(engine, a, b, shape, forms, before=None):
    """Operands in memory -> their product in memory, added to the one before."""
    m, k, n = shape
    size = _native.residue_product_bytes(forms.native, m, n)
    out = aligned(size, 77) if before is None else before.copy()
    if before is not None:
        room = aligned(size)
        room[:] = before
        out = room
    _native.residue_multiply(engine, m, k, n, forms.native, a, b, out, before is not None)
    return out


def reconstruct(engine, product, forms, tables, limbs, exponents, exponent=0, k=1):
    """A product in memory -> planes (N, rows, columns)."""
    rows, columns = (np.asarray(e, np.int32) for e in exponents)
    out = np.full((limbs, len(rows), len(columns)), np.nan)
    _native.residue_reconstruct(
        engine, k, forms.native, product, tables, exponent, rows, columns, out, None, None
    )
    return out


def residues(values, forms, shifted=0):
    """Residues of integers, symmetric ones; if shifted some one beyond half of the modulus."""
    out = np.array([values % m for m in forms.moduli])
    for r, m in zip(out, forms.moduli, strict=True):
        half = (m + 1) // 2 - shifted
        r -= m * (r > half)
    return out.astype(np.int64)
