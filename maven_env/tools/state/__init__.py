"""Looking at the artifacts of a problem."""
