"""Derivatives, Taylor coefficients and what is analytic, on trees."""
