"""Opening what a command works on: the store behind --db, the app behind --app."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cli.exits import Stop
from runtime.protocol.errors import KeepstepError

if TYPE_CHECKING:
    from runtime.store.store import Store
    from workers import App


@asynccontextmanager
async def opened(db: Path, *, create: bool = False, clock: str = "wall") -> AsyncIterator["Store"]:
    """The store of a file; a missing one is made only by commands that may."""
    from runtime.store.store import Store

    store = await Store.open(db, create=create, clock=clock)
    try:
        yield store
    finally:
        await store.close()


def load_app(target: str) -> "App":
    """The App behind `module:name`; the name may be left out when it is `app`. `Stop` says what is wrong with it."""
    from workers.target import load

    where = target.partition(":")[0]
    if not where:
        raise Stop(f"{target!r}: MODULE:APP is expected, for example shop:app for the App named app in shop.py")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return load(target if ":" in target else f"{target}:app")
    except KeepstepError:
        raise
    except ModuleNotFoundError as error:
        raise Stop(f"{target}: {_absent(where, error.name or where)}") from None
    except (Exception, SystemExit) as error:
        raise Stop(f"{target}: importing it failed with {type(error).__name__}: {error}; mend {where} first") from error


def _absent(where: str, missing: str) -> str:
    if missing == where or where.startswith(f"{missing}."):
        return f"there is no module {missing!r} in {os.getcwd()} or installed; run this in the folder that holds it"
    return f"it imports {missing!r}, and there is no such module here; install it, or mend {where}"
