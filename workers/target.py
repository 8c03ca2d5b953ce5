"""Apps by name: `module:name`, or `file.py:name` for a program that is run as a file."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.protocol.errors import HandlerMismatch
from workers.handlers import Kind

if TYPE_CHECKING:
    from workers.app import App

FILE_MODULE = "keepstep_app_file"


def load(target: str) -> "App":
    """The app behind a target; `HandlerMismatch` says what is not there."""
    from workers.app import App

    where, _, name = target.partition(":")
    name = name or "app"
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(FILE_MODULE, where)
        if spec is None or spec.loader is None:
            raise HandlerMismatch(f"{target!r}: {where} cannot be loaded as a module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[FILE_MODULE] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    found = getattr(module, name, None)
    if not isinstance(found, App):
        raise HandlerMismatch(f"{target!r}: module {where!r} has no App named {name!r}{_apps(vars(module).items())}")
    return found


def _apps(names: Iterable[tuple[str, object]]) -> str:
    from workers.app import App

    found = [name for name, value in names if isinstance(value, App)]
    return f"; it has {', '.join(found)}" if found else "; it makes none: app = App(…) at its top level is expected"


def locate(app: "App", modules: Iterable[str]) -> str | None:
    """The target of an app that stands at the top level of one of these modules."""
    for name in modules:
        module = sys.modules.get(name)
        for attribute, value in vars(module).items() if module is not None else ():
            if value is app:
                return f"{_importable(name)}:{attribute}"
    return None


def target_of(app: "App", given: str | None) -> str | None:
    """How the processes of `process=True` handlers import the app; None if it has no such handlers."""
    in_processes = [handler for handler in app.handlers.values() if handler.kind is Kind.PROCESS]
    if given is not None or not in_processes:
        return given
    found = locate(app, [handler.function.__module__ for handler in in_processes])
    if found is None:
        raise HandlerMismatch(
            f"handler {in_processes[0].name!r} has process=True, and its process has to import app {app.name!r}: "
            f"assign the app to a name at the top level of the handler's module, or pass target='module:app'"
        )
    return found


def _importable(name: str) -> str:
    module = sys.modules[name]
    if name == "__main__":
        spec = getattr(module, "__spec__", None)
        return spec.name if spec is not None else str(getattr(module, "__file__", name))
    return name
