# SPDX-License-Identifier: BSD-3-Clause
"""Linear algebra in multiple-double precision.

A number is an unevaluated sum of N doubles: ``"dd"`` has 2 of them and 31 decimal digits, ``"qd"``
4 and 62, ``"od"`` 8 and 125, ``"hd"`` 16 and 250.

Example:
    >>> import mdla
    >>> A = mdla.array([["0.1", 2], [3, 4]], prec="qd")
    >>> print((A @ A)[0, 0])
    6.01
"""

from mdla import (
    gemm as gemm,
    homotopy as homotopy,
    linalg as linalg,
    poly as poly,
    series as series,
)
from mdla._native import get_num_threads as get_num_threads, set_num_threads as set_num_threads
from mdla.core import io as io, random as random
from mdla.core.arithmetic import (
    abs as abs,
    absolute as absolute,
    add as add,
    conj as conj,
    conjugate as conjugate,
    divide as divide,
    fma as fma,
    imag as imag,
    ldexp as ldexp,
    multiply as multiply,
    negative as negative,
    positive as positive,
    real as real,
    reciprocal as reciprocal,
    sign as sign,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
)
from mdla.core.array import MDArray as MDArray
from mdla.core.comparison import (
    allclose as allclose,
    array_equal as array_equal,
    clip as clip,
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    less as less,
    less_equal as less_equal,
    maximum as maximum,
    minimum as minimum,
    not_equal as not_equal,
    signbit as signbit,
    where as where,
)
from mdla.core.constants import (
    e as e,
    euler_gamma as euler_gamma,
    golden_ratio as golden_ratio,
    ln2 as ln2,
    ln10 as ln10,
    pi as pi,
    sqrt2 as sqrt2,
)
from mdla.core.creation import (
    arange as arange,
    array as array,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    from_limbs as from_limbs,
    full as full,
    full_like as full_like,
    identity as identity,
    linspace as linspace,
    ones as ones,
    ones_like as ones_like,
    zeros as zeros,
    zeros_like as zeros_like,
)
from mdla.core.elementary import (
    angle as angle,
    arccos as arccos,
    arcsin as arcsin,
    arctan as arctan,
    arctan2 as arctan2,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    hypot as hypot,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from mdla.core.integers import (
    ceil as ceil,
    divmod as divmod,
    floor as floor,
    floor_divide as floor_divide,
    remainder as remainder,
    rint as rint,
    round as round,
    trunc as trunc,
)
from mdla.core.io import load as load, save as save
from mdla.core.manipulation import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    block as block,
    broadcast_to as broadcast_to,
    concatenate as concatenate,
    copy as copy,
    diag as diag,
    diagonal as diagonal,
    expand_dims as expand_dims,
    flip as flip,
    hstack as hstack,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    ravel as ravel,
    repeat as repeat,
    reshape as reshape,
    roll as roll,
    split as split,
    squeeze as squeeze,
    stack as stack,
    swapaxes as swapaxes,
    take as take,
    tile as tile,
    transpose as transpose,
    tril as tril,
    triu as triu,
    vstack as vstack,
)
from mdla.core.ordering import argsort as argsort, sort as sort
from mdla.core.powers import power as power
from mdla.core.precision import (
    Precision as Precision,
    finfo as finfo,
    precision as precision,
)
from mdla.core.printing import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from mdla.core.products import (
    dot as dot,
    inner as inner,
    kron as kron,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vdot as vdot,
    vecdot as vecdot,
)
from mdla.core.reductions import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    cumprod as cumprod,
    cumsum as cumsum,
    max as max,
    mean as mean,
    min as min,
    norm2 as norm2,
    prod as prod,
    std as std,
    sum as sum,
    var as var,
)
from mdla.gemm import matmul as matmul
from mdla.linalg import (
    EighResult as EighResult,
    EigResult as EigResult,
    LinAlgError as LinAlgError,
    LstsqResult as LstsqResult,
    LUFactorResult as LUFactorResult,
    LUResult as LUResult,
    PermutedLUResult as PermutedLUResult,
    PivotedQRResult as PivotedQRResult,
    QRResult as QRResult,
    SlogdetResult as SlogdetResult,
    SVDResult as SVDResult,
    cholesky as cholesky,
    cond as cond,
    det as det,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    expm as expm,
    inv as inv,
    lstsq as lstsq,
    lu as lu,
    matrix_power as matrix_power,
    matrix_rank as matrix_rank,
    norm as norm,
    pinv as pinv,
    qr as qr,
    roots as roots,
    slogdet as slogdet,
    solve as solve,
    solve_triangular as solve_triangular,
    svd as svd,
    svdvals as svdvals,
)
from mdla.poly import PolynomialSystem as PolynomialSystem
from mdla.report import (
    CapabilityReport as CapabilityReport,
    capability_report as capability_report,
    show_config as show_config,
)

__version__ = "0.1.0"
