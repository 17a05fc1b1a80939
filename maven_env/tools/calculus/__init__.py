"""Derivatives, integrals, limits and vector analysis in closed form, integrals checked against an independent value."""
