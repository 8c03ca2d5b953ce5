"""The agent's story: long waits, a deploy in the middle, a migration at step 0, an unknown outcome, a person's word.

What is shown as a command is done here through the same verbs. Told again over the same file, it goes on where it was,
and what is done already answers so.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from anyio import create_task_group

from demos.agent.app import APPROVE, Agent
from demos.agent.model import stub_model
from demos.agent.press import Press
from demos.agent.story import Story, index
from demos.agent.tools import Tools
from demos.story import Teller
from runtime.embed import connect, run
from runtime.protocol.errors import NoSuchJob
from runtime.protocol.records import JobRecord
from runtime.protocol.verdicts import State
from runtime.stopping import Stop
from runtime.store.store import Store

PLACES = 2
LOOK = "400ms"
LOOKS_SHOWN = 3
QUESTIONS = {
    "anna-1": ("anna", "Which files speak about 'retry', and how long do they take to read?"),
    "anna-2": ("anna", "Which files speak about 'cancelled', and how long do they take to read?"),
    "ben-1": ("ben", "Which files speak about 'process', and how long do they take to read?"),
    "carl-1": ("carl", "Which files speak about 'thread', and how long do they take to read?"),
}
LOST = "ben-1"


async def tell(
    teller: Teller, folder: Path, *, db: Path | None = None, library_db: Path | None = None, by_hand: bool = False
) -> None:
    """The whole demo; `by_hand` leaves the approvals to `demo agent --approve JOB --db FILE` in another terminal."""
    # what the log would say is told here in other words
    logging.getLogger("keepstep").addHandler(logging.NullHandler())
    teller.title("agent: plan, tools, a person's approval, report; for as long as that takes")
    path = db or folder / "agent.db"
    async with index(library_db, folder) as (shelf, words), connect(path) as store:
        teller.say(f"The agent searches {words}. Its model is a stub: fixed rules instead of a network.")
        press = Press(path.with_name(f"{path.stem}-printed"), loses=frozenset({LOST}))

        def agents(versions: tuple[str, ...]) -> Agent:
            return Agent(stub_model, Tools(shelf.query), press, versions=versions, look=LOOK)

        await _play(Story(teller, store, agents, path), press, by_hand)


async def _play(story: Story, press: Press, by_hand: bool) -> None:
    old, both = story.agents(("v1",)), story.agents(("v1", "v2"))
    old_ends, new_ends = Stop(grace_s=5, hard_limit_s=5), Stop(grace_s=5, hard_limit_s=5)
    async with create_task_group() as group:
        group.start_soon(_pool, old, story.store, old_ends)
        await _ask(story, old)
        await _wait_long(story)
        group.start_soon(_pool, both, story.store, new_ends)
        await _deploy(story, both)
        old_ends.ask("deploy")
        await _after_deploy(story, both)
        await _migrate(story, both)
        await _approve(story, by_hand)
        await _unknown(story, press)
        await _finish(story, press)
        new_ends.ask("the story is told")


async def _pool(agent: Agent, store: Store, stop: Stop) -> None:
    await run(agent.app, store, concurrency=PLACES, stop=stop)


async def _admit(story: Story, agent: Agent, name: str) -> None:
    flow, question = QUESTIONS[name]
    answer = await agent.app.admit(story.store, name, {"question": question}, flow=flow)
    record = await story.job(name)
    story.teller.saw(f"admit {name}", f"{answer.verdict}, {story.version(record.current_digest)}")


async def _ask(story: Story, agent: Agent) -> None:
    await story.wait(story.routed)
    story.teller.say(
        f"A worker with {PLACES} places runs v1: plan, up to four turns of model and tool, approval, report, delivery. "
        "Three questions come in, two of them from Anna; a flow keeps its order, so her second one waits for her first."
    )
    for name in ("anna-1", "anna-2", "ben-1"):
        await _admit(story, agent, name)
    for name in ("anna-1", "ben-1"):
        await story.wait(lambda name=name: story.asked(name, LOOKS_SHOWN))  # type: ignore[misc]
    story.teller.say(
        "Each turn is a step: what the model wished for and what the tool answered is kept, and never asked for again."
    )
    effects = await story.effects("anna-1")
    for turn in (name for name in effects if name.startswith("turn")):
        story.teller.saw(f"anna-1, {turn}", _turn(effects[turn]))


def _turn(value: Any) -> str:
    if value["tool"] is None:
        return "nothing is left to do"
    result = value["result"]
    if value["tool"] == "search":
        result = ", ".join(hit["name"] for hit in result) or "nothing"
    return f"{value['tool']}: {result}"


async def _wait_long(story: Story) -> None:
    story.teller.say(
        "Now both wait for a person. The approval step looks into a table and raises Retry(after=…) under a budget of "
        "a million looks. Between two looks a job takes no place and no memory, and the wait outlives any restart."
    )
    for name in ("anna-1", "ben-1"):
        job = await story.job(name)
        looked = f", has looked {job.attempts} times" if job.attempts else ""
        story.teller.saw(f"jobs show {name}", f"{_said(job)}{looked}")
    story.teller.saw("jobs show anna-2", f"{_said(await story.job('anna-2'))}, behind anna-1")


async def _deploy(story: Story, both: Agent) -> None:
    story.teller.say(
        "In the middle of it, a deploy. v2 checks the figures before it asks for approval. The new worker declares v1 "
        "and v2; when it is up, new questions are sent to v2, and the old worker is told to stop."
    )
    digest = both.manifests["v2"].digest
    await story.wait(lambda: story.covered(digest))
    route = next(route for route in (await story.store.snapshot()).routes if route.workflow == "agent")
    if route.digest == digest:
        story.teller.saw("new questions go to v2", "since an earlier telling")
        return
    answer = await story.store.switch(digest, route.revision, reason="deploy of v2", actor="operator")
    story.saw(f"definitions switch {digest[:8]} (v2)", answer)


async def _after_deploy(story: Story, both: Agent) -> None:
    await _admit(story, both, "carl-1")
    for name in ("anna-1", "ben-1"):
        digest = (await story.job(name)).current_digest
        story.teller.saw(f"{name} keeps the list it was accepted with", story.version(digest))


async def _migrate(story: Story, both: Agent) -> None:
    story.teller.say(
        "A person may move a job to v2, as long as none of its steps is committed: anna-2 has not begun, anna-1 has."
    )
    to = both.manifests["v2"].digest
    for name in ("anna-1", "anna-2"):
        revision = (await story.job(name)).binding_revision
        answer = await story.store.migrate(name, revision, to, "wants its figures checked", actor="operator")
        story.saw(f"definitions migrate {name} --to {to[:8]}", answer)


async def _approve(story: Story, by_hand: bool) -> None:
    who = "Now it is your turn" if by_hand else "Somebody comes back from lunch and approves"
    story.teller.say(f"{who}. In another terminal that is, for each of {', '.join(QUESTIONS)}:")
    story.teller.command(f"{sys.executable} -m runtime demo agent --approve anna-1 --db {story.db}")
    for name in QUESTIONS:
        if not by_hand:
            await story.wait(lambda name=name: story.asked(name))  # type: ignore[misc]
            await approve(story.store, name, by="a simulated person")
        await story.wait(lambda name=name: story.decided(name))  # type: ignore[misc]
        value: Any = (await story.effects(name))["approval"]
        story.teller.saw(f"{name}, approval", f"{'approved' if value['approved'] else 'refused'} by {value['by']}")


async def _unknown(story: Story, press: Press) -> None:
    await story.wait(lambda: story.ended(LOST))
    job = await story.job(LOST)
    if job.state is not State.QUARANTINED:
        return
    story.teller.say(
        f"{LOST} was sent to the press, and no reply came. The handler raises OutcomeUnknown: nobody knows whether it "
        "happened, so nothing is repeated by itself. The job is quarantined until a person has looked."
    )
    story.teller.saw(f"why job {LOST}", f"{_said(job)}: {job.reason}")
    story.teller.saw(f"the person looks at the press: {LOST}", _printed(press, LOST))
    story.teller.say(
        "The press keeps one copy for an idempotency key, and a redrive sends the same key again: so repeating is safe "
        "here. Where the other side keeps no keys, this look is what decides."
    )
    reason = "looked: it is printed, and the key is the same"
    answer = await story.store.redrive(LOST, job.generation, reason, actor="operator")
    story.saw(f"redrive {LOST} --reason 'looked: …'", answer)


async def _finish(story: Story, press: Press) -> None:
    story.teller.say("So everything that was accepted ends, each under its own list.")
    for name in QUESTIONS:
        finished = await story.store.wait_done(name)
        version = story.version(finished.record.current_digest)
        said = f"the press says {finished.result!r}, {_printed(press, name)}"
        story.teller.saw(f"{name}: done under {version}, {len(finished.effects)} steps", said)
    for name in ("anna-2", LOST):
        acts = [f"{row.verb} by {row.actor}: {row.reason}" for row in await story.store.audit(job=name)]
        story.teller.saw(f"on record for {name}", acts)
    story.teller.say("One of the reports:")
    for line in str((await story.effects("anna-2"))["report"]).splitlines():
        story.teller.command(line)


def _said(job: JobRecord) -> str:
    return f"{job.state} at step {job.cursor}"


def _printed(press: Press, name: str) -> str:
    return f"printed {press.printed(name)}×"


async def approve(store: Store, job: str, *, approved: bool = True, by: str) -> None:
    """A person's word about a job; the first one stands."""
    await store.write([(APPROVE, (job, int(approved), by))])


async def say_yes_or_no(db: Path, job: str, *, approved: bool, by: str) -> str:
    """What `--approve` and `--refuse` do; says what is on record afterwards."""
    async with connect(db, create=False) as store:
        if await store.job(job) is None:
            raise NoSuchJob(job)
        await approve(store, job, approved=approved, by=by)
        ((kept, name),) = await store.query("select approved, by_whom from agent_approval where job = ?", (job,))
    return f"{job} is {'approved' if kept else 'refused'} by {name}"
