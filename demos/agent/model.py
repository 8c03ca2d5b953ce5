"""The one door to a model, and the stub that stands behind it in this demo. Put your own client in place of the stub.

A model is a function `await model(task, facts) -> JSON`, with three tasks:

- `plan`: facts `{question}` → a list of sentences
- `next`: facts `{question, plan, seen}`, where `seen` lists `{tool, input, result}` → `{tool, input}`, or
  `{tool: null}` when nothing more is needed
- `report`: facts `{question, seen, approval}` → text

With a real client: make a prompt of task and facts, parse the reply, and let its exceptions out: a failed call fails
the attempt, which is repeated after a wait. What it answered is kept with the step and is not asked again.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

Model = Callable[[str, dict[str, Any]], Awaitable[Any]]
WORDS_A_MINUTE = 200


async def stub_model(task: str, facts: dict[str, Any]) -> Any:
    """No model at all: fixed rules that answer as one would, the same to the same question, at once and offline."""
    word = _word(facts["question"])
    match task:
        case "plan":
            return [f"search the files for {word!r}", "count the lines of the best one", "compute the reading time"]
        case "next":
            return _next(word, facts["seen"])
        case "report":
            return _report(facts)
    raise ValueError(f"the model knows the tasks plan, next and report, not {task!r}")


def _next(word: str, seen: list[dict[str, Any]]) -> dict[str, Any]:
    if not seen:
        return {"tool": "search", "input": word}
    hits = seen[0]["result"]
    if not isinstance(hits, list) or not hits:
        return {"tool": None}
    if len(seen) == 1:
        return {"tool": "count_lines", "input": hits[0]["path"]}
    if len(seen) == 2:
        total = " + ".join(str(hit["words"]) for hit in hits)
        return {"tool": "calculate", "input": f"({total}) / {WORDS_A_MINUTE}"}
    return {"tool": None}


def _report(facts: dict[str, Any]) -> str:
    by_tool = {one["tool"]: one["result"] for one in facts["seen"]}
    hits = by_tool.get("search") or []
    lines = [f"# {facts['question']}", ""]
    lines += [f"- {hit['name']} ({hit['words']} words)" for hit in hits] or ["Nothing was found."]
    if "calculate" in by_tool:
        lines += ["", f"The first has {by_tool['count_lines']} lines. All take {by_tool['calculate']} minutes to read."]
    return "\n".join([*lines, "", f"Approved by {facts['approval']['by']}.", ""])


def _word(question: str) -> str:
    quoted = re.search(r"'(\w+)'", question)
    return quoted.group(1) if quoted else max(re.findall(r"\w+", question), key=len, default="file")
