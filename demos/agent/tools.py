"""What the agent may use: a calculator, a search over the library's index, a program that counts lines.

A tool that cannot do what it was asked says so in its result: that is for the model to read. Only what is worth another
attempt gets out as an exception.
"""

import ast
import math
import operator
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from demos.library.report import HITS, expression

Query = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]

MAX_EXPRESSION = 500
MAX_POWER = 64
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
HITS_SHOWN = 3
COUNT_LINES = "import sys; print(sum(1 for _ in open(sys.argv[1], 'rb')))"


def calculate(text: str) -> str:
    """The value of an arithmetic expression, or what is wrong with it. Nothing of it is executed as a program."""
    if len(text) > MAX_EXPRESSION:
        return f"refused: at most {MAX_EXPRESSION} characters are calculated"
    try:
        value = _value(ast.parse(text, mode="eval").body)
        return f"{value:.10g}" if math.isfinite(value) else "refused: the result is no finite number"
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        return f"refused: {error}"


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            one, other = _value(left), _value(right)
            if isinstance(op, ast.Pow) and (abs(other) > MAX_POWER or one < 0):
                raise ValueError(f"a power takes a base from 0 and an exponent up to {MAX_POWER}")
            return float(BINARY[type(op)](one, other))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return float(UNARY[type(op)](_value(operand)))
    raise ValueError("only numbers, parentheses and + - * / // % ** are calculated")


async def search(query: Query, words: str) -> list[dict[str, Any]]:
    """The best files for some words: `[{path, name, words}]`, best first."""
    asked = expression(words)
    hits = await query(HITS, (asked, HITS_SHOWN)) if asked else []
    counts = "select words from library_document where path = ?"
    return [
        {"path": path, "name": os.path.basename(path), "words": (await query(counts, (path,)))[0][0]}
        for path, *_ in hits
    ]


async def count_lines(path: str) -> str:
    """The lines of a file, counted by a program of its own, which gets no shell."""
    command = [sys.executable, "-I", "-c", COUNT_LINES, path]
    ended = await anyio.run_process(command, check=False)
    if ended.returncode:
        return f"refused: {ended.stderr.decode(errors='replace').strip().splitlines()[-1]}"
    return ended.stdout.decode().strip()


class Tools:
    """The tools by name."""

    def __init__(self, query: Query) -> None:
        self._query = query

    async def call(self, name: str, what: str) -> Any:
        """A tool's result, as JSON."""
        match name:
            case "search":
                return await search(self._query, what)
            case "count_lines":
                return await count_lines(what)
            case "calculate":
                return calculate(what)
        return f"refused: there is no tool {name!r}; there are search, count_lines and calculate"
