"""What holds for every test: asyncio is its event loop, as the store's driver knows no other; its time is limited; no
verb comes past a point that is named nowhere."""

import os
from collections.abc import Iterator

import pytest

from runtime.store import points

# Not among the project's settings: without the plugin that knows it, pytest would run no test of an app in this folder.
os.environ.setdefault("PYTEST_TIMEOUT", "60")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The backend of the anyio plugin."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _every_point_is_named() -> Iterator[None]:
    def heard(name: str) -> None:
        assert name in points.every(), f"{name} is passed and not in runtime.store.points.names()"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "reach", points.by_name(heard))
        yield
