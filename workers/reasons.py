"""An exception in words, whatever it is."""

import traceback

from runtime.protocol.canonical import cut

MAX_LEAVES = 8
MAX_TRACE_BYTES = 16_384


def reason_of(error: BaseException) -> str:
    """`ValueError: bad amount`, at most 8 KiB; a group's members are listed."""
    return cut(_words(error))


def trace_of(error: BaseException) -> str:
    """The traceback as text from the handler's first line on, at most 16 KiB."""
    try:
        frames = error.__traceback__
        frames = frames.tb_next if frames is not None and frames.tb_next is not None else frames
        return cut("".join(traceback.format_exception(type(error), error, frames)), MAX_TRACE_BYTES)
    except BaseException:
        return reason_of(error)


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in a group, nested ones too; a plain exception is its own leaf."""
    found, waiting = [], [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseExceptionGroup):
            waiting[:0] = one.exceptions
        else:
            found.append(one)
    return found


def _words(error: BaseException) -> str:
    if not isinstance(error, BaseExceptionGroup):
        return _line(error)
    members = leaves(error)
    listed = "; ".join(_line(member) for member in members[:MAX_LEAVES])
    more = f"; and {len(members) - MAX_LEAVES} more" if len(members) > MAX_LEAVES else ""
    return f"{_line(error)}: {listed}{more}"


def _line(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error.message if isinstance(error, BaseExceptionGroup) else error)
        text = text if len(text) <= MAX_TRACE_BYTES else cut(text)
    except BaseException:
        return f"{name} (its message cannot be printed)"
    return f"{name}: {text}" if text.strip() else name
