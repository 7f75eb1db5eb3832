# SPDX-License-Identifier: BSD-3-Clause
"""Systems of polynomials: values and derivatives at many points, in every precision."""

from mdla.poly import families as families
from mdla.poly.system import (
    EvaluationResult as EvaluationResult,
    PolynomialSystem as PolynomialSystem,
)

__all__ = ["EvaluationResult", "PolynomialSystem", "families"]
