"""Rewriting expressions exactly: substitution, expansion, factors, partial fractions, series, stable forms."""
