"""The sending side: a job is a message, and its only step delivers it to a receiver (contract §10).

The job's id, flow, sequence number and payload are the event's id, flow, seq and body, on every delivery. No
transaction spans the two files: a crash between the receiver's commit and the job's ends in `duplicate`, never in a
second effect.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from runtime.protocol.receive import Receipt, Received, check_body
from workers.app import App
from workers.context import Context
from workers.endings import Quarantine
from workers.steps import step

WORKFLOW = "relay"
ABI = "relay/1"

FOLLOWS: Mapping[Received, str] = {
    Received.ACCEPTED: "commit_step",
    Received.DUPLICATE: "commit_step",
    Received.GAP: "fail",
    Received.UNAVAILABLE: "fail",
    Received.CONFLICT: "quarantine",
    Received.UNSUPPORTED: "quarantine",
}
"""The verb with which a delivering step ends, by the receiver's answer."""


class Undelivered(Exception):
    """The receiver did not take an event this time; the attempt fails, and another follows."""


class Receiver(Protocol):
    """What the relay needs of a receiver."""

    async def receive(self, event_id: str, flow: str, seq: int, body: Any) -> Receipt:
        """`accepted`, `duplicate`, `conflict`, `gap` or `unsupported`."""


class Relay:
    """Delivers to one receiver. While `unavailable` is set nothing is sent, as if the receiver could not be reached."""

    def __init__(self, receiver: Receiver, *, unavailable: bool = False) -> None:
        self._receiver = receiver
        self.unavailable = unavailable

    async def deliver(self, event_id: str, flow: str | None, seq: int, body: Any) -> Receipt:
        """One delivery; `unavailable` if nothing was sent. The flow of a job without one is its own id."""
        if self.unavailable:
            return Receipt(Received.UNAVAILABLE, "the receiver could not be reached: nothing was sent")
        return await self._receiver.receive(event_id, flow or event_id, seq, body)


def reason(receipt: Receipt) -> str:
    """Why a step that met this answer fails or quarantines its job; it begins with the receiver's word."""
    return f"{receipt.verdict}: {receipt.cause}" if receipt.cause else str(receipt.verdict)


def check_event(payload: object) -> int:
    """The delta of a relay job's payload; `InvalidValue` names `delta` and its range. Ask it before admission."""
    return check_body(payload, "payload")


def ending(receipt: Receipt) -> dict[str, str]:
    """The delivering step's value; raises `Undelivered` or `Quarantine` where the receiver did not take the event."""
    verb = FOLLOWS[receipt.verdict]
    if verb == "quarantine":
        raise Quarantine(reason(receipt))
    if verb == "fail":
        raise Undelivered(reason(receipt))
    return {"received": str(receipt.verdict)}


class RelayApp(App):
    """An app whose only workflow delivers events: `app = RelayApp(Relay(InboxAt("receiver.db")))`.

    Keyword arguments are the step's policy, as `workers.step` takes them.
    """

    def __init__(self, relay: Relay, **policy: Any) -> None:
        super().__init__(WORKFLOW, abi=ABI)

        @self.step
        async def deliver(ctx: Context) -> dict[str, str]:
            return ending(await relay.deliver(ctx.id, ctx.flow, ctx.seq, ctx.payload))

        self.delivery = self.manifest([step("deliver", deliver, **policy)], current=True)

    def checked(self, payload: Any, workflow: str | None = None) -> Any:
        """The payload, if it is a body; `InvalidValue` names `delta` and its range."""
        check_event(payload)
        return payload
