"""Text that an attacker, a confused model or a fuzzer would send where an expression is expected."""

CODE = [
    "print('x')", "__import__('os').system('id')", "x.__class__", "().__class__", "x._assumptions", "open('f','w')",
    "lambda: 1", "[i for i in x]", "{1:2}", "f'{x}'", "(y:=3)", "x if y else z", "x and y", "not x", "import os", "x;y",
    "x#c", "'abc'", '"abc"', "x[0]", "x@y", "x%y", "x&y", "~x", "x//y", "1if 1else 2", "0x10", "1_000", "0b1", "x->y",
    "\\frac{1}{2}", "`id`", "$(id)", "eval(1)", "exec(1)", "getattr(x,y)", "Symbol(x)", "S(1)", "sympify(1)",
    "Function(f)", "Lambda(x,x)", "Matrix(3)", "Sum(k,k)", "Integral(x)", "diff(x)", "${step-01.output.expr}", "${",
]  # fmt: skip

UNICODE = [
    "\U0001d429\U0001d42b\U0001d422\U0001d427\U0001d42d(1)", "\uff50rint(1)", "x\u200b+1", "\u0430+1", "\u0661+1",
    "x\x00y", "\ufeffx", "x\u202ey", "\u017fin(x)", "\ud800", "x\u0301",
]  # fmt: skip

NUMBERS = [
    "9**9**9", "9^9^9^9", "10**(10**8)", "2**300000000", "x**x**9**9**9", "(10^9)!", "factorial(10^7)", "100000!!",
    "((5!)!)!", "binomial(10^7,5*10^6)", "gamma(10^9)", "1e400000000", "1e99999", "9" * 100_000, "1/3^100000",
    "(2/3)^(10^7)", "exp(exp(exp(10)))", "2^2^2^2^2^2", "exp(10^9)", "sinh(10^8)", "cosh(2^40)", "(1+1/10)^(10^6)",
    "7^(7^7)", "(sqrt(2))^(10^9)", "x^100000", "(x+y+z+w)^400", "(x+1)^(10^6)", "((x+y)^50)^50",
    "(a+b)^40*(c+d)^40*(e+f)^40*(g+h)^40", "floor(exp(exp(exp(10))))", "Abs(exp(exp(exp(9)))-exp(exp(exp(9))))",
    "sign(exp(10^7))",
]  # fmt: skip

DEPTHS = [
    "(" * 5000 + "1" + ")" * 5000, "sin(" * 3000 + "x" + ")" * 3000, "-" * 20000 + "1", "x**" * 3000 + "x",
    "+".join(["x"] * 3000), "sqrt(" * 100 + "2" + ")" * 100, "|" * 101, "+".join(f"x{i}" for i in range(60)),
    "Piecewise((" * 200 + "x", "*".join(["(x+1)"] * 3000),
]  # fmt: skip

SYNTAX = [
    "((((", "))))", "(", "", ")", "1 2", "x 2", "2 3x", "1/2x", "x(y+1)", "f(x)", "sin", "sin x", "sin()", "sin(1,2)",
    "log(1,2,3)", "a" * 200, "__x", "x__y", "_x", "x.", "..", "1..2", "1.2.3", "*x", "x*", "^2", "x==", "x=1=2", "x,y",
    "(x,y)", "x!!", "!x", "x < 1", "x = 1", "Piecewise(x)", "Piecewise((x, x))", "True", "otherwise(",
]  # fmt: skip

REFUSED = [*CODE, *UNICODE, *NUMBERS, *DEPTHS, *SYNTAX]

# These pass every static check: symbols cancel only while sympy builds.
REFUSED_WHILE_BUILDING = [
    "exp(exp(exp(exp(x-x+9))))", "9^(9^(9*x/x))", "factorial(10^(9+x-x))", "(2x)^(x/x*10^9)", "x^(10^(9+x-x))",
    "exp(10^(9*x/x))", "((x-x+7)!)!", "2^(2^(2^(2^(2+x-x))))", "(x-x+2)^(x-x+10^9)", "(1+sqrt(2))^(x-x+10^9)",
    "exp(1)^(exp(1)^(exp(1)^(9+x-x)))", "floor(exp(exp(exp(9*x/x))))", "(1/3)^((x-x+10)^9)", "pi^(10^(9+x-x))",
    "binomial(10^(7+y-y),5)", "gamma(x-x+10^9)", "(2*x)^(10^(6+x-x))",
]  # fmt: skip
