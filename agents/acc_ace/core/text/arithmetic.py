"""Evaluate arithmetic without evaluating code."""

import ast
import math
import operator
from collections.abc import Callable

from acc_ace.errors import InputError

_MAX_CHARS = 500
_MAX_EXPONENT = 1_000
_MAX_MAGNITUDE = 10.0**300
_MAX_DIGITS = 300

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _round(value: float, digits: float = 0) -> float:
    # For an integer Python computes 10 ** -digits, which is unbounded work for a large one.
    if abs(digits) > _MAX_DIGITS:
        raise ValueError(f"cannot round to more than {_MAX_DIGITS} digits")
    return round(value, int(digits)) if digits else round(value)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "max": max,
    "min": min,
    "round": _round,
    "sqrt": math.sqrt,
}
_NAMES = {"pi": math.pi, "e": math.e}
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "^": "**", "，": ",", "（": "(", "）": ")"})


def evaluate(expression: str) -> float:
    """The value of an arithmetic expression: + - * / // % ** ( ), and a few functions.

    Raises InputError with the reason.
    """
    if len(expression) > _MAX_CHARS:
        raise InputError(f"the expression is longer than {_MAX_CHARS} characters")
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval")
        value = _value(tree.body)
    except (
        SyntaxError,
        ValueError,
        ZeroDivisionError,
        OverflowError,
        TypeError,
        RecursionError,
    ) as error:
        raise InputError(f"cannot calculate '{expression}': {error}") from error
    if isinstance(value, complex) or not math.isfinite(value):
        raise InputError(f"cannot calculate '{expression}': the result is not a real number")
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(arg) for arg in args)))
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
    raise ValueError(f"'{ast.unparse(node)}' is not arithmetic")


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > _MAX_EXPONENT:
        raise ValueError(f"an exponent above {_MAX_EXPONENT} is too large")
    return _bounded(base**exponent)


def _bounded(value: float) -> float:
    if isinstance(value, complex):
        raise ValueError("the result is not a real number")
    if abs(value) > _MAX_MAGNITUDE:
        raise ValueError("the result is too large")
    return value
