"""The names that every text may use: functions of numbers, operators on fields, constants."""

from __future__ import annotations

TIMES = ("t", "time")
LARGEST_EXPONENT = 100
# functions of numbers, with how many they take
FUNCTIONS: dict[str, tuple[int, int]] = {
    **{name: (1, 1) for name in ("sin", "cos", "tan", "cot", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
    **{
        name: (1, 1)
        for name in ("exp", "log", "log10", "sqrt", "abs", "sign", "erf", "erfc", "exp1", "lambertw")
    },
    **{"atan2": (2, 2), "min": (2, 8), "max": (2, 8)},
}
OF_A_FIELD = ("laplacian", "grad", "biharmonic")
OPERATORS = (*OF_A_FIELD, "div", "curl", "dot", "norm", "vector", "sum", "where")
BUILT_IN = frozenset((*FUNCTIONS, *OPERATORS, "d", "Derivative", *(f"d{k}" for k in range(2, 7))))
CONSTANTS = {"pi": 3.141592653589793}
