"""Laplace transforms and Fourier series."""
