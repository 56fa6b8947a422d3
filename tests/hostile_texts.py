"""Texts that nobody means: by hand, strings of pieces of the language, and right equations broken in one place."""

import random

BY_HAND = [
    "",
    " ",
    "\n\n;;\n",
    "# laplacian(T) = 0",
    "=",
    "= 0",
    "laplacian(T) =",
    "laplacian(T) = = 0",
    "laplacian(T) := 0",
    "laplacian(T) = 0\0",
    "lapl\0acian(T) = 0",
    "laplacian(T) = 0 # \u202e",
    "laplacian(\u2066T\u2069) = 0",
    "laplacian(T\u200b) = 0",
    "\ufefflaplacian(T) = 0",
    "laplacian(T) = \x1b[31m0",
    "ﬁ(T) = 0",
    "d(Ｔ, x) = 0",
    "T.__class__ = 0",
    "T.__class__.__mro__[1].__subclasses__() = 0",
    "().__class__ = 0",
    "__import__('os').system('touch hostile') = 0",
    "__import__(os) = 0",
    "laplacian(T) = __builtins__",
    "laplacian(T) = eval(x)",
    "laplacian(T) = exec(x)",
    "laplacian(T) = open(x)",
    "laplacian(T) = getattr(x, y)",
    "laplacian(T) = lambda x: x",
    "laplacian(T) = [x for x in y]",
    "laplacian(T) = {x: y}",
    "laplacian(T) = f'{x}'",
    "laplacian(T) = 'os'",
    'laplacian(T) = "os"',
    "laplacian(T) = `ls`",
    "laplacian(T) = $(ls)",
    "laplacian(T) = x if y else 3",
    "laplacian(T) = x or y",
    "laplacian(T) = not x",
    "laplacian(T) = *x",
    "laplacian(T) = **x",
    "laplacian(T) = x ** ",
    "laplacian(T) = x @ y",
    "laplacian(T) = x // y",
    "laplacian(T) = x % y",
    "laplacian(T) = x & y",
    "laplacian(T) = x | y",
    "laplacian(T) = ~x",
    "laplacian(T) = x!",
    "laplacian(T) = x?",
    "laplacian(T) = x\\y",
    "laplacian(T) = 9**9**9**9",
    "laplacian(T) = T**(9**9)",
    "laplacian(T) = x**1e300",
    "laplacian(T) = (10**100)**(10**100)",
    "laplacian(T) = 1e400",
    "laplacian(T) = 0x10",
    "laplacian(T) = 1_000",
    "laplacian(T) = 1j",
    "laplacian(T) = 1.2.3",
    "laplacian(T) = 1..2",
    "laplacian(T) = 2x",
    "laplacian(T) = 2(x)",
    "laplacian(T) = (x)(y)",
    "laplacian(T) = ()",
    "laplacian(T) = (x",
    "laplacian(T) = x)",
    "laplacian(T)) = x",
    "laplacian(T = 0",
    "laplacian(T] = 0",
    "laplacian[T] = 0",
    "laplacian() = 0",
    "laplacian(T, T, T) = 0",
    "laplacian = 0*d(T, x)",
    "d() = 0",
    "d(T) = 0",
    "d(, x) = 0",
    "d(T, 3) = 0",
    "d(T, x, 99) = 0",
    "d(T, x, 1.5) = 0",
    "d9(T, x) = 0",
    "d2(T, x, y) = 0",
    "d(T, x, x, x, x, x, x, x) = 0",
    "d(T, T) = 0",
    "d(T, x + y) = 0",
    "d(x, T) = 0",
    "d(T, z) = 0",
    "d7T/dx7 = 0",
    "d2T/dx3 = 0",
    "dT/d = 0",
    "grad(T) = 1",
    "div(T) = 0*d(T, x)",
    "div(grad(T), grad(T)) = 0",
    "grad(grad(T)) = 0",
    "curl(T) = d(T, x)",
    "(T, T, T)*grad(T) = 0",
    "grad(T)/grad(T) = 1",
    "grad(T)**3 = 1",
    "where(x) = d(T, x)",
    "where(x < 1, grad(T), 2) = 0",
    "d(T, x) = x < y",
    "d(T, x) = x == y",
    "d(T, x) = x != y",
    "d(T, x) = sum(x)",
    "d(T, x) = sum(x[i])",
    "d(T, x) = x[0]",
    "d(T, x) = sin(x)(y)",
    "d(T, x) = min(x)",
    "d(T, x) = atan2(x)",
    "d(T, x) = foo(x)",
    "d(T, x) = f(x); f(x) = f(x)",
    "d(T, x) = a; a = b; b = a",
    "d(T, x) = f(x, y); f(x, x) = x",
    "d(T, x) = f(3); f(3) = 3",
    "d(T, x) = f(x); f(x) = x; f(x) = x",
    "d(T, x) = a; a = 1; a = 2",
    "pi = d(T, x); sin(x) = 3",
    "T = 3 on",
    "T = 3 on on",
    "T = 3 on y",
    "T = 3 on y = ",
    "T = 3 on y = x",
    "T = 3 on y = T",
    "T = 3 on y < 1",
    "T = 3 on y = 0 and x > 5",
    "T = 3 on y = 1e400",
    "T = 3 on nowhere",
    "d(T, n) = 3 on y = 0 and x = 0",
    "on on on",
    "and = or",
    "laplacian(T) = lambda",
    "laplacian(T) = class",
    "laplacian(T) = T(0, 0)",
    "laplacian(T) = T(y, x)",
    "T" * 5000 + " = d(T, x)",
    "laplacian(T) = " + "(" * 5000 + "x" + ")" * 5000,
    "laplacian(T) = " + "(" * 60 + "x" + ")" * 60,
    "laplacian(T) = " + "-" * 5000 + "x",
    "laplacian(T) = " + "sin(" * 100 + "x" + ")" * 100,
    "laplacian(T) = " + "x**" * 500 + "x",
    "laplacian(T) = " + "+".join(["x"] * 8000),
    "laplacian(T) = " + "not " * 500 + "x",
    "laplacian(" * 45 + "T" + ")" * 45 + " = 0",
    "biharmonic(biharmonic(biharmonic(biharmonic(biharmonic(biharmonic(T)))))) = 0",
    "x" * 1_000_000,
    "laplacian(T) = " + "1" * 30_000,
    "(" * 1_000_000,
    "\n".join(
        [f"f{i}(x) = f{i + 1}(x) + f{i + 1}(x)" for i in range(200)] + ["f200(x) = x", "d(T, x) = f0(x)"]
    ),
    "\n".join([f"a{i} = a{i + 1}*a{i + 1}" for i in range(200)] + ["a200 = x", "d(T, x) = a0"]),
    "f(x) = d(g(x), x, x, x)\ng(x) = d(h(x), x, x, x)\nh(x) = d(x**9, x, x, x)*x\nd(T, x) = "
    + " + ".join(["f(x)"] * 900),
]


# a string of such pieces hardly ever makes sense
_PIECES = (
    *[
        "T",
        "x",
        "y",
        "z",
        "k",
        "pi",
        "1",
        "2.5",
        "1e5",
        "laplacian",
        "grad",
        "div",
        "d",
        "d2",
        "sum",
        "where",
        "sin",
    ],
    *[
        "(",
        ")",
        "(",
        ")",
        "[",
        "]",
        ",",
        "=",
        "+",
        "-",
        "*",
        "/",
        "**",
        "<",
        ">=",
        "on",
        "and",
        "or",
        "not",
        "dT/dx",
    ],
    *["∇", "∂", "²", "Δ", "·", ".", "__class__", "'", '"', ";", "#", "{", "}", ":", "!", "$"],
    *("\n", "\0", "\u202e"),
)


def shuffled(seed):
    """A random string of pieces of the language, and of others."""
    rng = random.Random(seed)
    return " ".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 30)))


def right(rng):
    """An equation that makes sense, drawn from a grammar."""
    sides = [" + ".join(_term(rng) for _ in range(rng.randint(1, 3))) for _ in range(2)]
    return f"laplacian(T) + {sides[0]} = {sides[1]}"


def _term(rng):
    factors = [_factor(rng, 2) for _ in range(rng.randint(1, 3))]
    return rng.choice(["*", "/", " * "]).join(factors)


def _factor(rng, depth):
    atoms = [
        "T",
        "x",
        "y",
        "k",
        "pi",
        "2",
        "0.5",
        "1e-3",
        "d(T, x)",
        "dT/dy",
        "d2(T, y)",
        "∇²T",
        "x**2",
        "y^3",
    ]
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(atoms)
    inner = _factor(rng, depth - 1)
    return rng.choice(
        [
            f"sin({inner})",
            f"({inner} + {_factor(rng, depth - 1)})",
            f"where(x < {inner}, 1, 2)",
            f"exp(-{inner})",
            f"d({inner}*T, x)",
            f"max({inner}, 1)",
        ]
    )


# each makes nonsense of any equation; the last word of some is for the place in it
_BREAKS = (
    lambda text, rng: text.replace("=", rng.choice(["", "==", "= =", ":=", "!=", "<="]), 1),
    lambda text, rng: _put(text, rng, rng.choice(["(", ")", "[", "]", "{", "}"])),
    lambda text, rng: _put(text, rng, rng.choice(["\0", "\u202e", "\u200b", "\x1b", "\u2066", "\ufeff"])),
    lambda text, rng: text.replace("T", rng.choice(["T.__class__", "T.real", "T.__init__.__globals__"]), 1),
    lambda text, rng: text + rng.choice([" +", " *", " **", " /", " ,", " (", " on", " on on", " and"]),
    lambda text, rng: (
        text + rng.choice([" + 'os'", ' + "x"', " + f'{x}'", " + `ls`", " + $x", " + x ? 1 : 2"])
    ),
    lambda text, rng: text + rng.choice([" + d(T, q)", " + d(T, 3)", " + d(T)", " + d()", " + d(T, x + 1)"]),
    lambda text, rng: text + rng.choice([" + d9(T, x)", " + d2(T, x, y)", " + d(T, x, 7)", " + d7T/dx7"]),
    lambda text, rng: (
        text + rng.choice([" + sin()", " + sin(x, y)", " + atan2(x)", " + max(x)", " + where(x)"])
    ),
    lambda text, rng: text + rng.choice([" + qux(x)", " + eval(x)", " + open(x)", " + __import__(x)"]),
    lambda text, rng: (
        text + rng.choice([" + x**101", " + 2**9**9**9", " + T**-1e9", " + 1e999", " + x**(10**10)"])
    ),
    lambda text, rng: (
        text + rng.choice([" + grad(T)", " + div(T)", " + curl(grad(T), T)", " + grad(T)/grad(T)"])
    ),
    lambda text, rng: (
        text + rng.choice([" + (x < 1)", " + (x and y)", " + not x", " + x if y else 1", " + lambda x"])
    ),
    lambda text, rng: text + rng.choice([" + x[0]", " + sum(x[i])", " + x[i]", " + T[0]", " + sum(x)"]),
    lambda text, rng: (
        text + rng.choice([" on z = 0", " on y", " on y < 1", " on y = T", " on wall", " on y = 1e999"])
    ),
    lambda text, rng: text + rng.choice(["; k = k + 1", "; k = 1; k = 2", "; a = b; b = a", "; f(x) = f(x)"]),
    lambda text, rng: text + " + " + "(" * 41 + "x" + ")" * 41,
    lambda text, rng: text + " + " + rng.choice(["-", "not ", "sin("]) * 300 + "x",
    lambda text, rng: (
        text + rng.choice([" + 2x", " + 2(x)", " + x y", " + 1.2.3", " + 0x10", " + 1_0", " + 3j"])
    ),
    lambda text, rng: text + " " + "+ x" * rng.choice([7_000, 100_000]),
)


def _put(text, rng, what):
    # not inside a comment, of which there are none, nor at the end of a number
    at = rng.randrange(len(text) + 1)
    return text[:at] + what + text[at:]


def broken(seed):
    """A right equation with one thing in it that makes no sense."""
    rng = random.Random(seed)
    return _BREAKS[seed % len(_BREAKS)](right(rng), rng)


ALL = [*BY_HAND, *(broken(seed) for seed in range(500 - len(BY_HAND)))]
