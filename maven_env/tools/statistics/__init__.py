"""Regression, nonlinear fits and the propagation of uncertainty."""
