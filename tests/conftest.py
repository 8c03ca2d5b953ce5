"""What holds for every test: asyncio is its event loop, as the store's driver knows no other; its time is limited."""

import os

import pytest

# Not among the project's settings: without the plugin that knows it, pytest would run no test of an app in this folder.
os.environ.setdefault("PYTEST_TIMEOUT", "60")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The backend of the anyio plugin."""
    return "asyncio"
