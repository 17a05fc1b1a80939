"""Equations, systems, inequalities, recurrences and the roots of polynomials, complete or saying that they are not."""
