"""Values, numerical derivatives, quadrature, roots and sums, with what is certain about their error."""
