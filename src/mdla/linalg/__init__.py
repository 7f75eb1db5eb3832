# SPDX-License-Identifier: BSD-3-Clause
"""Matrix factorisations and linear systems, with the names of NumPy and SciPy."""

from mdla.linalg.cholesky import (
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    cholesky as cholesky,
)
from mdla.linalg.determinant import SlogdetResult as SlogdetResult, det as det, slogdet as slogdet
from mdla.linalg.eig import EigResult as EigResult, eig as eig, eigvals as eigvals
from mdla.linalg.eigh import EighResult as EighResult, eigh as eigh, eigvalsh as eigvalsh
from mdla.linalg.factored import QR as QR
from mdla.linalg.functions import expm as expm, matrix_power as matrix_power
from mdla.linalg.inputs import LinAlgError as LinAlgError
from mdla.linalg.lstsq import LstsqResult as LstsqResult, lstsq as lstsq
from mdla.linalg.lu import (
    LUFactorResult as LUFactorResult,
    LUResult as LUResult,
    PermutedLUResult as PermutedLUResult,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
)
from mdla.linalg.norms import cond as cond, norm as norm
from mdla.linalg.pseudo import matrix_rank as matrix_rank, pinv as pinv
from mdla.linalg.qr import PivotedQRResult as PivotedQRResult, QRResult as QRResult, qr as qr
from mdla.linalg.refine import Info as Info
from mdla.linalg.roots import roots as roots
from mdla.linalg.solve import (
    SolveResult as SolveResult,
    inv as inv,
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
    "LUFactorResult",
    "LUResult",
    "LinAlgError",
    "LstsqResult",
    "PermutedLUResult",
    "PivotedQRResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "SolveResult",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matrix_power",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "roots",
    "slogdet",
    "solve",
    "solve_info",
    "solve_triangular",
    "svd",
    "svdvals",
]
