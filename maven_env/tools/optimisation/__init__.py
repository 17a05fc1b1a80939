"""Local, global, constrained and linear optimisation."""
