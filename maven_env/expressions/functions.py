"""The functions of the grammar: names, arities, aliases, and the words that are no names."""

from __future__ import annotations

# name -> (fewest, most) arguments. Angles are radians; elliptic integrals take the parameter m = k^2.
ARITIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("sin", "cos", "tan", "cot", "sec", "csc"), (1, 1)),
    **dict.fromkeys(("asin", "acos", "atan", "acot", "asec", "acsc"), (1, 1)),
    **dict.fromkeys(("sinh", "cosh", "tanh", "coth", "sech", "csch"), (1, 1)),
    **dict.fromkeys(("asinh", "acosh", "atanh", "acoth"), (1, 1)),
    **dict.fromkeys(("exp", "sqrt", "cbrt", "Abs", "sign", "factorial", "gamma", "loggamma", "digamma"), (1, 1)),
    **dict.fromkeys(("floor", "ceiling", "re", "im", "arg", "conjugate", "Heaviside", "DiracDelta"), (1, 1)),
    **dict.fromkeys(("erf", "erfc", "erfi", "erfinv", "erfcinv", "Ei", "li", "Si", "Ci", "Shi", "Chi"), (1, 1)),
    **dict.fromkeys(("fresnels", "fresnelc", "elliptic_k", "airyai", "airybi", "airyaiprime", "airybiprime"), (1, 1)),
    **dict.fromkeys(("atan2", "binomial", "besselj", "bessely", "besseli", "besselk", "polygamma"), (2, 2)),
    **dict.fromkeys(("lowergamma", "uppergamma", "expint", "polylog"), (2, 2)),
    **dict.fromkeys(("log", "zeta", "LambertW", "elliptic_e", "elliptic_f"), (1, 2)),
    **dict.fromkeys(("Min", "Max"), (1, 8)),
    "elliptic_f": (2, 2),
}

ALIASES = {
    "ln": "log", "abs": "Abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "ceil": "ceiling", "min": "Min", "max": "Max", "sgn": "sign",
    "arctan2": "atan2",
}  # fmt: skip

CONSTANTS = {"pi": "pi", "oo": "oo", "inf": "oo", "I": "I"}

# Words of programming languages. They are no useful names in mathematics, and refusing them turns pasted code into
# a clear error instead of a product of letters.
RESERVED = frozenset(
    [
        "if",
        "else",
        "and",
        "or",
        "not",
        "in",
        "is",
        "for",
        "import",
        "while",
        "def",
        "class",
        "return",
        "None",
        "True",
        "False",
        "try",
        "del",
        "from",
        "global",
        "yield",
        "nan",
        "NaN",
    ]
)

# The whole of Unicode that is read; anything else is refused with its position.
UNICODE = str.maketrans(
    {
        "−": "-", "–": "-", "·": "*", "×": "*", "⋅": "*", "∙": "*", "÷": "/", "π": "pi", "∞": "oo", "√": "sqrt",
        "²": "^2", "³": "^3", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9",
        "≤": "<=", "≥": ">=", "≠": "!=", "\u00a0": " ", "\u2009": " ", "\u202f": " ",
        "α": "alpha", "β": "beta", "γ": "gamma_", "δ": "delta", "Δ": "Delta", "ε": "epsilon", "ζ": "zeta_",
        "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda_", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi",
        "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Ω": "Omega",
    }
)  # fmt: skip
