"""Model and store side by side: every operation is put to both, and everything they show must be the same.

`Walk` is driven by the state machine of `test_model`; the blocking portal belongs to whoever drives it.
"""

import contextlib
import copy
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal

from runtime.protocol.errors import ClockBackwards, ItemError
from runtime.protocol.manifest import Manifest, Step
from runtime.protocol.records import Answer, Callback, ClaimRequest, Claims, Commit, Token, Worker
from runtime.protocol.verdicts import OnLapse
from runtime.store.store import Store
from tests.conformance.model import Model, Reply, Taken
from tests.conformance.photograph import Photograph, differences, photograph
from tests.crash.invariants import STATEMENTS


def _step(name: str, lapse: OnLapse = OnLapse.RETRY, **policy: int) -> Step:
    whole = {"budget": 3, "base": 2, "ceiling": 8, "lease": 5, "time_limit": 9} | policy
    return Step(name, "credit", {}, on_lapse=lapse, **whole)


V1 = Manifest("points", "ledger/1", (_step("base"), _step("bonus", budget=2, base=0, ceiling=0)))
V2 = Manifest("points", "ledger/1", (_step("bonus", OnLapse.HOLD, lease=2), _step("base", lease=3, time_limit=4)))
V3 = Manifest("points", "ledger/1", (_step("base", budget=1, base=1, ceiling=2),))
SIDE = Manifest("side", "ledger/1", (_step("send", OnLapse.HOLD, time_limit=3),))
LATER = Manifest("points", "ledger/1", (_step("later"), _step("latest"), _step("last", OnLapse.HOLD)))
NAMED = {"V1": V1, "V2": V2, "V3": V3, "SIDE": SIDE, "LATER": LATER}
MANIFESTS = tuple(NAMED.values())
DIGESTS = {name: manifest.digest for name, manifest in NAMED.items()} | {"nothing": "0" * 64}
WORKERS = {
    "all": Worker.declaring("all", *MANIFESTS),
    "old": Worker.declaring("old", V1, SIDE),
    "new": Worker.declaring("new", V2, V3, LATER),
    "side": Worker.declaring("side", SIDE),
    "none": Worker.declaring("none"),
}


class Walk:
    """One store in a file of its own, and its model."""

    def __init__(self, portal: BlockingPortal, path: Path, heard: Counter[tuple[str, str]]) -> None:
        self.portal = portal
        self.heard = heard
        self.model = Model()
        self.tokens: list[Token] = []
        self.seen: dict[str, tuple[str, int, int]] = {}
        self.finished: dict[str, tuple[Any, ...]] = {}
        self.store = portal.call(lambda: Store.open(path, clock="logical", store_id="walk", durability="normal"))

    def close(self) -> None:
        self.portal.call(self.store.close)

    # operations

    def many(self, verb: str, items: Sequence[Any], now: int) -> None:
        """The batch form of a verb; each answer must be the model's."""
        method: Callable[..., Awaitable[list[Answer | ItemError]]] = getattr(self.store, f"{verb}_many")
        answers = self.portal.call(lambda: method(items, now=now))
        self.model.at(now)
        self._agree(verb, items, answers)

    def single(self, verb: str, record: Any, now: int) -> None:
        """The verbs that have no batch form: `transition` and `set`."""

        async def call() -> Answer:
            if verb == "transition":
                return await self.store.transition(
                    record.action, record.expected_version, command_id=record.command_id, now=now
                )
            return await self.store.set(
                record.name, record.value, "tried", flow=record.flow, command_id=record.command_id, now=now
            )

        answer = self.portal.call(call)
        self.model.at(now)
        self._agree(verb, [record], [answer])

    def claim(self, limit: int, worker: Worker, now: int) -> None:
        answer = self.portal.call(lambda: self.store.claim(limit, worker, now=now))
        self.model.at(now)
        self._taken(answer, limit, worker)

    def sweep(self, now: int) -> None:
        moved = self.portal.call(lambda: self.store.sweep(now=now))
        self.model.at(now)
        assert moved == self.model.sweep()

    def settle(
        self,
        commits: Sequence[Commit],
        failures: Sequence[Callback],
        releases: Sequence[Callback],
        quarantines: Sequence[Callback],
        claim: ClaimRequest,
    ) -> None:
        """A pool's turn, at the stored tick."""
        answers, claims = self.portal.call(
            lambda: self.store.settle(
                commits=commits, failures=failures, releases=releases, quarantines=quarantines, claim=claim
            )
        )
        groups = {"commit_step": commits, "fail": failures, "release": releases, "quarantine": quarantines}
        for verb, items in groups.items():
            if items:
                self._agree(verb, items, answers[verb])
        assert claims is not None
        self._taken(claims, claim.limit, claim.worker)

    def together(self, requests: Sequence[tuple[str, Sequence[Any]]], now: int) -> None:
        """Requests of different callers at once: some serial order of them explains every answer and the file."""
        answers: list[Any] = [None] * len(requests)

        async def ask(number: int, verb: str, items: Sequence[Any]) -> None:
            if verb == "claim":
                answers[number] = await self.store.claim(items[0].limit, items[0].worker, now=now)
            else:
                answers[number] = await getattr(self.store, f"{verb}_many")(items, now=now)

        async def all_at_once() -> Photograph:
            async with anyio.create_task_group() as group:
                for number, (verb, items) in enumerate(requests):
                    group.start_soon(ask, number, verb, items)
            return await photograph(self.store)

        seen = self.portal.call(all_at_once)
        before, tokens = self.model, len(self.tokens)
        for order in itertools.permutations(range(len(requests))):
            self.model = copy.deepcopy(before)
            self.model.at(now)
            with contextlib.suppress(AssertionError):
                for number in order:
                    self._explain(*requests[number], answers[number])
                if not differences(self.model, seen):
                    return
            del self.tokens[tokens:]
        raise AssertionError(f"no serial order of {requests} explains {answers}")

    def _explain(self, verb: str, items: Sequence[Any], answer: Any) -> None:
        if verb == "claim":
            self._taken(answer, items[0].limit, items[0].worker)
        else:
            self._agree(verb, items, answer)

    def backwards(self, call: Callable[[Store, int], Awaitable[Any]]) -> None:
        """A smaller tick is an error that names both, and changes nothing (the comparison after it shows that)."""
        early = self.model.tick - 1
        with pytest.raises(ClockBackwards) as caught:
            self.portal.call(lambda: call(self.store, early))
        assert (caught.value.tick, caught.value.stored) == (early, self.model.tick)

    # agreeing

    def _agree(self, verb: str, items: Sequence[Any], answers: Sequence[Answer | ItemError]) -> None:
        assert len(items) == len(answers)
        for item, answer in zip(items, answers, strict=True):
            expected: Reply | ItemError
            try:
                expected = self._ask(verb, item)
            except ItemError as error:
                expected = error
            if isinstance(expected, ItemError) or isinstance(answer, ItemError):
                assert type(answer) is type(expected), f"{verb} {item}: {answer!r}, the model says {expected!r}"
                self.heard[verb, type(answer).__name__] += 1
                continue
            given = Reply(str(answer.verdict), {name: getattr(answer, name) for name in expected.carries})
            assert given == expected, f"{verb} {item}: {answer}, the model says {expected}"
            if answer.verdict in ("refused", "full", "conflict"):
                assert answer.cause, f"{verb} {item}: {answer.verdict} without a cause"
            self.heard[verb, given.verdict] += 1

    def _ask(self, verb: str, item: Any) -> Reply:
        model = self.model
        match verb:
            case "register":
                return model.register(item)
            case "admit":
                return model.admit(item.workflow, item.id, item.payload, item.flow, item.width)
            case "commit_step":
                return model.commit_step(item.token, item.value, item.worker.id, item.worker.manifests)
            case "fail":
                return model.fail(item.token, item.after)
            case "release" | "quarantine" | "renew":
                reply: Reply = getattr(model, verb)(item.token)
                return reply
            case "switch":
                arguments: tuple[Any, ...] = (item.digest, item.expected_revision)
            case "redrive" | "recover":
                arguments = (item.job, item.generation, item.to, item.effects_checked)
            case "quarantine_job":
                arguments = (item.job, item.generation)
            case "migrate":
                arguments = (item.job, item.binding_revision, item.digest, item.effects_checked)
            case "transition":
                arguments = (item.action, item.expected_version)
            case _:
                arguments = (item.name, item.value, item.flow)
        return model.command(item.command_id, verb, *arguments)

    def _taken(self, answer: Claims, limit: int, worker: Worker) -> None:
        expected = self.model.claim(limit, worker.id, worker.manifests)
        given: list[Taken] = [
            (claim.token, claim.ticket, claim.lease_until, claim.attempt, claim.lifetime_attempts)
            for claim in answer.claims
        ]
        assert given == expected, f"claim({limit}, {worker.id}): {given}, the model says {expected}"
        assert (answer.mode, answer.version) == (self.model.mode, self.model.version)
        if len(expected) < limit and self.model.mode != "paused":
            assert answer.next_due == self.model.next_due()
        for claim in answer.claims:
            job = self.model.jobs[claim.token.job]
            assert (claim.workflow, claim.flow, claim.seq) == (job.workflow, job.flow.name, job.seq)
            assert claim.payload.encode() == job.payload
        self.tokens.extend(token for token, *_ in expected)
        self.heard["claim", "some" if expected else "none"] += 1

    # after every step

    def check(self) -> None:
        """Everything that the file shows is what the model has; what may never change has not changed."""
        seen = self.portal.call(photograph, self.store)
        assert not (found := differences(self.model, seen)), "\n".join(found)
        self._history(seen)
        generations = sum(job["lifetime"] for job in seen.jobs.values())
        assert generations == seen.control["ticket"]
        for name, job in seen.jobs.items():
            acts = sum(verb in ("redrive", "recover", "quarantine_job", "migrate") for verb in seen.acts.get(name, ()))
            assert job["generation"] == job["lifetime"] + acts
            steps = [effect[0] for effect in seen.effects.get(name, ())]
            assert steps == list(range(job["cursor"]))
            assert {effect[2] for effect in seen.effects.get(name, ())} <= {job["current"]}
            links = [job["accepted"], *(after for _, after in seen.chain.get(name, ()))]
            assert links[:-1] == [before for before, _ in seen.chain.get(name, ())]
            assert (links[-1], len(links) - 1) == (job["current"], job["binding"])
        if seen.control["mode"] == "paused":
            assert all(job["state"] == "done" for job in seen.jobs.values())

    def _history(self, seen: Photograph) -> None:
        """Accepted digests stand, generations and lifetime attempts never fall, a done job never changes."""
        for name, job in seen.jobs.items():
            accepted, generation, lifetime = self.seen.get(name, (job["accepted"], 0, 0))
            assert job["accepted"] == accepted
            assert job["generation"] >= generation
            assert job["lifetime"] >= lifetime
            self.seen[name] = (accepted, job["generation"], job["lifetime"])
            if job["state"] == "done":
                whole = (job, seen.effects.get(name))
                assert self.finished.setdefault(name, whole) == whole
        assert self.seen.keys() == seen.jobs.keys()

    def check_end(self) -> None:
        """At the end of a walk: the sentences about the file, and what the store's own reads say."""
        self.portal.call(self._reads)
        for sentence, statement in STATEMENTS.items():
            rows = self.portal.call(self.store.query, statement)
            assert not rows, f"{sentence}: {rows}"

    async def _reads(self) -> None:
        model, store = self.model, self.store
        unfinished = model.unfinished()
        snapshot = await store.snapshot()
        jobs = model.jobs.values()
        words = ("waiting" if job.state == "ready" and job.due is not None else job.state for job in jobs)
        assert {word: n for word, n in snapshot.jobs.items() if n} == dict(Counter(words))
        assert snapshot.unfinished_by_definition == dict(Counter(job.current for job in unfinished))
        assert snapshot.effects == sum(len(job.effects) for job in jobs)
        assert (snapshot.mode, snapshot.version, snapshot.ticket) == (model.mode, model.version, model.ticket)
        assert snapshot.taken_at == model.tick
        assert {route.workflow: (route.digest, route.revision) for route in snapshot.routes} == model.routes
        for name, job in model.jobs.items():
            record = await store.job(name)
            assert record is not None
            given = (record.state, record.workflow, record.flow, record.seq, record.cursor, record.generation)
            assert given == (job.state, job.workflow, job.flow.name, job.seq, job.cursor, job.generation)
            assert (record.accepted_digest, record.current_digest) == (job.accepted, job.current)
            assert (record.attempts, record.lifetime_attempts) == (job.attempts, job.lifetime)
            assert record.worker == (job.worker if job.state == "inflight" else None)
            effects = await store.effects(name)
            assert [(effect.step, effect.name, effect.digest, effect.value) for effect in effects] == job.effects
            if job.flow.name is not None:
                queue = model.queue(job.flow)
                flow, head = await store.flow(job.flow.name), await store.head(job.flow.name)
                assert flow is not None
                assert (flow.width, flow.served, flow.unfinished) == (job.flow.width, job.flow.served, len(queue))
                assert (head.id if head else None) == (queue[0].id if queue else None)
