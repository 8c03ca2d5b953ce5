"""The event loop of every test: asyncio, since the store's driver knows no other."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The backend of the anyio plugin."""
    return "asyncio"
