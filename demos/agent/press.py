"""Somebody else's server, to which reports are delivered: here a folder with a file for each idempotency key.

It keeps a delivery once, however often it comes, and one of its replies can get lost: the sender then does not know.
"""

from pathlib import Path


class ReplyLost(Exception):
    """The delivery was sent, and no reply came back."""


class Press:
    """Takes reports into `folder`; the first reply to a delivery of one of the jobs `loses` does not arrive."""

    def __init__(self, folder: Path, loses: frozenset[str] = frozenset()) -> None:
        self.folder = folder
        self._loses = set(loses)

    def deliver(self, key: str, job: str, text: str) -> str:
        """`printed`, or `known` if that key was delivered before."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.folder / f"{job}-{key[:12]}.md"
        known = path.exists()
        if not known:
            path.write_text(text, encoding="utf-8")
        if job in self._loses:
            self._loses.remove(job)
            raise ReplyLost(f"no reply to the delivery of {job}")
        return "known" if known else "printed"

    def printed(self, job: str) -> int:
        """How many reports of a job were printed: what a person looks at before sending it again."""
        return len(list(self.folder.glob(f"{job}-*.md")))
