# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and arrays: the lowest floor, which knows no matrix product and no factorisation."""
