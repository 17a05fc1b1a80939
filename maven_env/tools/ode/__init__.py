"""Differential equations: closed forms, initial and boundary values."""
