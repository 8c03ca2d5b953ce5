"""Which event loop a process of ours runs on: uvloop's where it is installed (extra `fast`), else asyncio's own."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TypeVar, TypeVarTuple, Unpack

import anyio

Result = TypeVar("Result")
Given = TypeVarTuple("Given")


def run(main: Callable[[Unpack[Given]], Awaitable[Result]], *given: *Given) -> Result:
    """Run `main(*given)` to its end on a loop of its own; its result."""
    return anyio.run(main, *given, backend_options={"use_uvloop": name() == "uvloop"})


def name() -> str:
    """`uvloop` or `asyncio`; one that is there and cannot be imported is as good as none."""
    try:
        import_module("uvloop")
    except ImportError:
        return "asyncio"
    return "uvloop"
