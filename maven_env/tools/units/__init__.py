"""Quantities with units, conversions and physical constants."""
