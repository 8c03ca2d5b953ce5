"""The agent's app. Each turn of its loop is a step: what a model or a tool answered is kept and never asked again.

v1: plan, four turns, approval, report, delivery. v2 checks the reading time with the calculator before the approval.
A turn that finds nothing left to do is an empty step. The list is as long as the most turns that an agent may take.
"""

from typing import Any

from demos.agent.model import Model
from demos.agent.press import Press, ReplyLost
from demos.agent.tools import Tools, calculate
from runtime.protocol.manifest import Manifest
from workers import App, Context, OutcomeUnknown, Retry, step
from workers.steps import PlannedStep

TURNS = 4
# every look at the table takes an attempt: a person may need weeks
LOOKS = 1_000_000
APPROVALS = """
create table agent_approval (
  job text primary key,
  approved integer not null,
  by_whom text not null
) strict
"""
APPROVE = "insert into agent_approval (job, approved, by_whom) values (?, ?, ?) on conflict (job) do nothing"


class Agent:
    """An app with the manifests of some versions, over a model, tools and a press; the last version is current."""

    def __init__(
        self, model: Model, tools: Tools, press: Press, *, versions: tuple[str, ...] = ("v1", "v2"), look: str = "5s"
    ) -> None:
        self.model, self.tools, self.press = model, tools, press
        self.app = App("agent", abi="agent/1")
        self.app.schema("agent", APPROVALS)
        self._look = look
        for handler in (self.plan, self.turn, self.check, self.approval, self.report, self.deliver):
            self.app.step(handler)
        self.manifests: dict[str, Manifest] = {
            name: self.app.manifest(self._steps(name), current=name == versions[-1]) for name in versions
        }

    def _steps(self, version: str) -> list[PlannedStep]:
        steps = [step("plan", self.plan)]
        steps += [step(f"turn {turn}", self.turn, {"turn": turn}, time_limit="2m") for turn in range(1, TURNS + 1)]
        if version == "v2":
            steps.append(step("check", self.check))
        steps.append(step("approval", self.approval, {"look": self._look}, budget=LOOKS))
        steps.append(step("report", self.report))
        return [*steps, step("deliver", self.deliver, on_lapse="hold")]

    async def plan(self, ctx: Context) -> Any:
        """What the model means to do."""
        return await self.model("plan", {"question": ctx.payload["question"]})

    async def turn(self, ctx: Context, *, turn: int) -> dict[str, Any]:
        """One turn: the model chooses a tool, the tool answers: `{tool, input, result}`, or `{tool: null}`."""
        seen = await _seen(ctx, turn)
        if turn > 1 and len(seen) < turn - 1:
            return {"tool": None}
        facts = {"question": ctx.payload["question"], "plan": await ctx.effect("plan"), "seen": seen}
        wish = await self.model("next", facts)
        if wish["tool"] is None:
            return {"tool": None}
        return {**wish, "result": await self.tools.call(wish["tool"], wish["input"])}

    async def check(self, ctx: Context) -> dict[str, Any]:
        """v2: whatever was calculated is calculated once more."""
        found = [one for one in await _seen(ctx) if one["tool"] == "calculate"]
        return {"checked": len(found), "sound": all(calculate(one["input"]) == one["result"] for one in found)}

    async def approval(self, ctx: Context, *, look: str) -> dict[str, Any]:
        """Waits for a person, as long as it takes: between two looks the job keeps no place and no memory."""
        rows = await ctx.query("select approved, by_whom from agent_approval where job = ?", (ctx.id,))
        if not rows:
            raise Retry(after=look, reason="nobody has approved it yet")
        return {"approved": bool(rows[0][0]), "by": rows[0][1]}

    async def report(self, ctx: Context) -> str:
        """The text, written by the model from what was seen."""
        approval = await ctx.effect("approval")
        if not approval["approved"]:
            return f"Not written: {approval['by']} did not approve it."
        facts = {"question": ctx.payload["question"], "seen": await _seen(ctx), "approval": approval}
        return str(await self.model("report", facts))

    async def deliver(self, ctx: Context) -> str:
        """Hand the report over. Its own key makes a second delivery harmless; still, only a person sends it again."""
        if not (await ctx.effect("approval"))["approved"]:
            return "nothing to deliver"
        try:
            return self.press.deliver(ctx.idempotency_key, ctx.id, await ctx.effect("report"))
        except ReplyLost as error:
            raise OutcomeUnknown(str(error)) from error


async def _seen(ctx: Context, before: int = TURNS + 1) -> list[dict[str, Any]]:
    """What the turns so far brought, without the empty ones."""
    turns = [await ctx.effect(f"turn {turn}") for turn in range(1, before)]
    return [one for one in turns if one["tool"] is not None]
