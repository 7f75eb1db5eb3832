# SPDX-License-Identifier: BSD-3-Clause
"""Linear regression data of the NIST Statistical Reference Datasets, as decimal strings.

Each set is a design matrix and a right-hand side of exact fractions, and the certified
coefficients. `exact_solution` solves the normal equations with rational numbers.
"""

from __future__ import annotations

from fractions import Fraction

LONGLEY = """
60323  83.0 234289 2356 1590 107608 1947
61122  88.5 259426 2325 1456 108632 1948
60171  88.2 258054 3682 1616 109773 1949
61187  89.5 284599 3351 1650 110929 1950
63221  96.2 328975 2099 3099 112075 1951
63639  98.1 346999 1932 3594 113270 1952
64989  99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962
"""
LONGLEY_COEFFICIENTS = """
-3482258.63459582 15.0618722713733 -0.358191792925910E-01 -2.02022980381683 -1.03322686717359
-0.511041056535807E-01 1829.15146461355
"""

NORRIS = """
0.1 0.2  338.8 337.4  118.1 118.2  888.0 884.6  9.2 10.1  228.1 226.5  668.5 666.3  998.5 996.3
449.1 448.6  778.9 777.0  559.2 558.2  0.3 0.4  0.1 0.6  778.1 775.5  668.8 666.9  339.3 338.0
448.9 447.5  10.8 11.6  557.7 556.0  228.3 228.1  998.0 995.8  888.8 887.6  119.6 120.2  0.3 0.3
0.6 0.3  557.6 556.8  339.3 339.1  888.0 887.2  998.5 999.0  778.9 779.0  10.2 11.1  117.6 118.3
228.9 229.2  668.4 669.1  449.2 448.9  0.2 0.5
"""
NORRIS_COEFFICIENTS = "-0.262323073774029 1.00211681802045"

PONTIUS = """
.11019 150000  .21956 300000  .32949 450000  .43899 600000  .54803 750000  .65694 900000
.76562 1050000  .87487 1200000  .98292 1350000  1.09146 1500000  1.20001 1650000  1.30822 1800000
1.41599 1950000  1.52399 2100000  1.63194 2250000  1.73947 2400000  1.84646 2550000
1.95392 2700000  2.06128 2850000  2.16844 3000000  .11052 150000  .22018 300000  .32939 450000
.43886 600000  .54798 750000  .65739 900000  .76596 1050000  .87474 1200000  .98300 1350000
1.09150 1500000  1.20004 1650000  1.30818 1800000  1.41613 1950000  1.52408 2100000
1.63159 2250000  1.73965 2400000  1.84696 2550000  1.95445 2700000  2.06177 2850000
2.16829 3000000
"""
PONTIUS_COEFFICIENTS = "0.673565789473684E-03 0.732059160401003E-06 -0.316081871345029E-14"


def _numbers(text):
    return [Fraction(word) for word in text.split()]


def _polynomial(text, degree):
    """From pairs y, x."""
    numbers = _numbers(text)
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return [[x**k for k in range(degree + 1)] for _, x in pairs], [y for y, _ in pairs]


def longley():
    rows = [_numbers(line) for line in LONGLEY.strip().splitlines()]
    return [[Fraction(1), *row[1:]] for row in rows], [row[0] for row in rows]


def wampler1():
    a = [[Fraction(x) ** k for k in range(6)] for x in range(21)]
    return a, [sum(row) for row in a]


def wampler2():
    a = [[Fraction(x) ** k for k in range(6)] for x in range(21)]
    return a, [sum(c * Fraction(1, 10**k) for k, c in enumerate(row)) for row in a]


#: name -> (design matrix and right-hand side, certified coefficients)
SETS = {
    "longley": (longley(), _numbers(LONGLEY_COEFFICIENTS)),
    "norris": (_polynomial(NORRIS, 1), _numbers(NORRIS_COEFFICIENTS)),
    "pontius": (_polynomial(PONTIUS, 2), _numbers(PONTIUS_COEFFICIENTS)),
    "wampler1": (wampler1(), [Fraction(1)] * 6),
    "wampler2": (wampler2(), [Fraction(1, 10**k) for k in range(6)]),
}


def exact_solution(a, b):
    """The least-squares solution of a matrix of full rank, and its residual's sum of squares."""
    n = len(a[0])
    rows = [
        [sum(r[i] * r[j] for r in a) for j in range(n)]
        + [sum(r[i] * y for r, y in zip(a, b, strict=True))]
        for i in range(n)
    ]
    for j in range(n):
        pivot = next(i for i in range(j, n) if rows[i][j] != 0)
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [v / rows[j][j] for v in rows[j]]
        for i in range(n):
            if i != j:
                rows[i] = [v - rows[i][j] * w for v, w in zip(rows[i], rows[j], strict=True)]
    x = [row[n] for row in rows]
    rest = [y - sum(c * v for c, v in zip(r, x, strict=True)) for r, y in zip(a, b, strict=True)]
    return x, sum(v * v for v in rest)
