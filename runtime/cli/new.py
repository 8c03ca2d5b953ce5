"""new: a starting app, one test, and a systemd unit, in a folder of their own; each runs at once."""

import keyword
import os
import shlex
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated

from cyclopts import Parameter

from runtime.cli.exits import Exit, Stop
from runtime.cli.output import say, show

TEMPLATES = {"app.py.txt": "{name}.py", "test.py.txt": "test_{name}.py", "unit.txt": "{name}.service"}


def new(
    name: Annotated[str, Parameter(help="The app's name, also its module's: a Python identifier.")],
    /,
    *,
    into: Annotated[Path | None, Parameter(help="The folder to write into. Default: one of that name, here.")] = None,
) -> int:
    """Write a starting app, a test and a systemd unit into a folder.

    ```
    python -m runtime new myapp
    cd myapp
    python -m runtime admit myapp job-1 --payload '{"n": 20}' --app myapp:app --db myapp.db
    python -m runtime work myapp:app --db myapp.db --until-idle
    python -m runtime jobs show job-1 --db myapp.db
    ```

    Nothing that exists is written over.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or _taken(name):
        raise Stop(
            f"{name!r} cannot be a module's name: a Python identifier that is not taken is expected, such as myapp"
        )
    folder = (into or Path(name)).absolute()
    texts = {folder / target.format(name=name): _filled(source, name, folder) for source, target in TEMPLATES.items()}
    for path in texts:
        if os.path.lexists(path):
            raise Stop(f"{path} exists and is left as it is; choose another name, or another folder with --into")
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise Stop(f"{folder}: cannot be written ({error.strerror})", Exit.UNAVAILABLE) from None
    for path in texts:
        show(str(path))
    say(_next(name, folder))
    return Exit.OK


def _taken(name: str) -> bool:
    """Whether an app of that name would stand before a module that this program or another one needs."""
    if name in sys.stdlib_module_names:
        return True
    found = find_spec(name)
    return found is not None and found.origin is not None


def _filled(source: str, name: str, folder: Path) -> str:
    text = files("runtime.cli").joinpath("templates", source).read_text("utf-8")
    link, paths = shlex.quote(f"{folder / name}.service"), {"folder": str(folder), "python": sys.executable}
    return Template(text).substitute(name=name, link=link, **{key: _unit(path) for key, path in paths.items()})


def _unit(path: str) -> str:
    """A path as systemd reads it: percent signs start its specifiers."""
    return path.replace("%", "%%")


def _next(name: str, folder: Path) -> str:
    python, database = shlex.quote(sys.executable), f"--db {name}.db"
    admitted = f"admit {name} job-1 --payload '{{\"n\": 20}}' --app {name}:app"
    return "\n".join(
        (
            "next:",
            f"  cd {shlex.quote(str(folder))}",
            f"  {python} -m runtime {admitted} {database}",
            f"  {python} -m runtime work {name}:app {database}  # serves until Ctrl-C",
            f"  {python} -m runtime jobs show job-1 {database}  # in another terminal",
            f"  {python} -m pytest test_{name}.py  # needs pytest",
            f"  systemctl --user link {shlex.quote(f'{folder / name}.service')} && systemctl --user start {name}",
        )
    )
