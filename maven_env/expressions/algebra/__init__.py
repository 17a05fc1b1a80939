"""Exact algebra beyond the rationals: algebraic numbers, fields of fractions with known relations, their kernels."""
