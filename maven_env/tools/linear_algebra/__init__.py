"""Matrices: exact by python-flint, in double precision with bounds of the error."""
