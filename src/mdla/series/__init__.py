# SPDX-License-Identifier: BSD-3-Clause
"""Truncated power series in multiple-double precision.

Example:
    >>> import mdla
    >>> t = mdla.series.variable(4, prec="qd")
    >>> print(mdla.series.sqrt(1 + t).coefficients)
    [ 1.         0.5       -0.125      0.0625    -0.0390625]
"""

from mdla.series.creation import constant as constant, variable as variable
from mdla.series.functions import (
    arccos as arccos,
    arcsin as arcsin,
    arctan as arctan,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    power as power,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    tan as tan,
    tanh as tanh,
)
from mdla.series.joining import concatenate as concatenate, stack as stack
from mdla.series.newton import NewtonResult as NewtonResult, newton as newton
from mdla.series.pade import (
    PadeApproximant as PadeApproximant,
    pade as pade,
    robust_pade as robust_pade,
)
from mdla.series.products import convolve as convolve
from mdla.series.series import Series as Series
from mdla.series.singularities import (
    RadiusResult as RadiusResult,
    SingularityResult as SingularityResult,
    nearest_singularity as nearest_singularity,
    radius_of_convergence as radius_of_convergence,
)
from mdla.series.solve import solve as solve

__all__ = [
    "NewtonResult",
    "PadeApproximant",
    "RadiusResult",
    "Series",
    "SingularityResult",
    "arccos",
    "arcsin",
    "arctan",
    "concatenate",
    "constant",
    "convolve",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "nearest_singularity",
    "newton",
    "pade",
    "power",
    "radius_of_convergence",
    "robust_pade",
    "sin",
    "sinh",
    "solve",
    "sqrt",
    "stack",
    "tan",
    "tanh",
    "variable",
]
