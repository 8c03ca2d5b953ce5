"""Table T: every command and verb in every mode of the barrier."""

from pathlib import Path

import pytest

from runtime.store.store import Store
from tests.conformance.table import (
    HELD_ONE,
    HELD_TWO,
    ONE,
    RETRY,
    STATES,
    TWO,
    WORKER,
    arrange,
    claimed,
    manifest_of,
    opened,
    policy_of,
)

pytestmark = pytest.mark.usefixtures("flow")

MODES = {"open": (), "draining": ("drain",), "paused": ("drain", "pause")}
COMMANDS = {
    ("drain", "open"): "draining",
    ("drain", "draining"): "refused",
    ("drain", "paused"): "refused",
    ("pause", "open"): "refused",
    ("pause", "draining"): "paused",
    ("pause", "paused"): "refused",
    ("resume", "open"): "refused",
    ("resume", "draining"): "open",
    ("resume", "paused"): "open",
}


async def _bring(store: Store, mode: str) -> None:
    for version, action in enumerate(MODES[mode]):
        await store.transition(action, version, now=0)


@pytest.mark.parametrize(
    ("action", "mode", "word", "busy"),
    [
        pytest.param(action, mode, word, busy, id=f"{action}-{mode}-{'unfinished' if busy else 'all-done'}-{word}")
        for (action, mode), word in COMMANDS.items()
        for busy in (False, True)
        if not (busy and mode == "paused")
    ],
)
async def test_t_every_command_in_every_mode(tmp_path: Path, action: str, mode: str, word: str, busy: bool) -> None:
    async with await opened(tmp_path, ONE) as store:
        if not busy:
            await arrange(store, "done")
        await _bring(store, mode)
        version = len(MODES[mode])
        answer = await store.transition(action, version, now=1)
        expected = "busy" if busy and (action, mode) == ("pause", "draining") else word
        changed = expected not in ("busy", "refused")
        assert answer.verdict == expected
        assert (answer.mode, answer.version) == (expected if changed else mode, version + changed)
        if expected == "busy":
            assert answer.unfinished is not None
            assert sum(answer.unfinished.values()) == 1
        stale = await store.transition(action, version + 7, now=1)
        assert (stale.verdict, stale.version) == ("stale", version + changed)


@pytest.mark.parametrize(
    ("mode", "word"), [("open", "accepted"), ("open", "full"), ("draining", "closed"), ("paused", "closed")]
)
async def test_t_an_unseen_job_in_every_mode(tmp_path: Path, mode: str, word: str) -> None:
    async with await opened(tmp_path, ONE) as store:
        await arrange(store, "done")
        await _bring(store, mode)
        if word == "full":
            await store.set("capacity", 1, "small", now=1)
            await store.admit("table", "filler", {"n": 1}, now=1)
        assert (await store.admit("table", "unseen", {"n": 1}, now=1)).verdict == word


@pytest.mark.parametrize("mode", MODES)
async def test_t_claim_register_and_switch_in_every_mode(tmp_path: Path, mode: str) -> None:
    async with await opened(tmp_path, ONE) as store:
        if mode == "paused":
            await arrange(store, "done")
        await _bring(store, mode)
        claims = await store.claim(1, WORKER, now=1)
        assert (claims.mode, len(claims.claims)) == (mode, 0 if mode == "paused" else 1)
        extra = manifest_of("extra", RETRY, steps=1)
        assert (await store.register(extra, now=1)).verdict == "registered"
        assert (await store.switch(extra.digest, 1, now=1)).verdict == "switched"
        assert (await store.set("newcomers", "first", "tried", now=1)).verdict == "set"


WORDS = ("ready", "waiting", *("inflight",) * 4, "ready", "quarantined", "quarantined")
BLOCKS = dict(zip(STATES, WORDS, strict=False))


@pytest.mark.parametrize(("state", "word"), BLOCKS.items(), ids=BLOCKS)
@pytest.mark.parametrize("steps", [1, 2], ids=["one-step", "one-of-two-committed"])
async def test_d4_each_unfinished_state_alone_keeps_pause_busy(
    tmp_path: Path, state: str, word: str, steps: int
) -> None:
    manifest = policy_of(state, ONE, HELD_ONE) if steps == 1 else policy_of(state, TWO, HELD_TWO)
    async with await opened(tmp_path, manifest) as store:
        if steps == 2:
            await store.commit_step(await claimed(store, 0), 1, worker=WORKER, now=0)
        now = await arrange(store, state)
        await store.transition("drain", 0, now=now)
        answer = await store.transition("pause", 1, now=now)
        assert (answer.verdict, answer.mode, answer.version) == ("busy", "draining", 1)
        assert answer.unfinished == {word: 1}
