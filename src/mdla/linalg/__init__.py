# SPDX-License-Identifier: BSD-3-Clause
"""Matrix factorisations and linear systems, with the names of NumPy and SciPy."""

from mdla.linalg.eig import EigResult as EigResult, eig as eig, eigvals as eigvals
from mdla.linalg.eigh import EighResult as EighResult, eigh as eigh, eigvalsh as eigvalsh
from mdla.linalg.factored import QR as QR
from mdla.linalg.inputs import LinAlgError as LinAlgError
from mdla.linalg.lstsq import LstsqResult as LstsqResult, lstsq as lstsq
from mdla.linalg.norms import cond as cond, norm as norm
from mdla.linalg.pseudo import matrix_rank as matrix_rank, pinv as pinv
from mdla.linalg.qr import PivotedQRResult as PivotedQRResult, QRResult as QRResult, qr as qr
from mdla.linalg.refine import Info as Info
from mdla.linalg.roots import roots as roots
from mdla.linalg.solve import (
    SolveResult as SolveResult,
    solve as solve,
    solve_info as solve_info,
)
from mdla.linalg.svd import SVDResult as SVDResult, svd as svd, svdvals as svdvals
from mdla.linalg.triangular import solve_triangular as solve_triangular

__all__ = [
    "QR",
    "EigResult",
    "EighResult",
    "Info",
    "LinAlgError",
    "LstsqResult",
    "PivotedQRResult",
    "QRResult",
    "SVDResult",
    "SolveResult",
    "cond",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "lstsq",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "roots",
    "solve",
    "solve_info",
    "solve_triangular",
    "svd",
    "svdvals",
]
