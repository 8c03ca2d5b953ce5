"""The quick look for a cancellation says what the full one does, however scopes lie in each other."""

import itertools
from contextlib import ExitStack

import pytest
from anyio import CancelScope, get_cancelled_exc_class
from anyio.lowlevel import checkpoint_if_cancelled

from workers.attempt import _may_be_cancelled

CASES = list(itertools.product(itertools.product((False, True), repeat=2), repeat=3))


@pytest.mark.parametrize("chain", CASES)
async def test_the_quick_look_says_what_the_full_one_does(chain: tuple[tuple[bool, bool], ...]) -> None:
    with ExitStack() as stack:
        scopes = [stack.enter_context(CancelScope(shield=shield)) for _, shield in chain]
        for scope, (cancelled, _) in zip(scopes, chain, strict=True):
            if cancelled:
                scope.cancel()
        told = _may_be_cancelled(scopes[-1])
        try:
            await checkpoint_if_cancelled()
        except get_cancelled_exc_class():
            assert told
            raise
        assert not told


def test_a_scope_that_cannot_be_looked_into_may_be_cancelled() -> None:
    class Other:
        deadline = 0.0
        cancel_called = False

    assert _may_be_cancelled(Other())
