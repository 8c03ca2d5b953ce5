"""What a failure leads to."""

LONGEST_AFTER_MS = 30 * 24 * 3600 * 1000


def backoff(attempts: int, base: int, ceiling: int) -> int:
    """How long a job waits after its `attempts`-th failure since the last progress: min(ceiling, base·2^(attempts-1)).

    Exact for any legal values, in the store's clock; the power is not formed where it must exceed the ceiling.
    """
    if base == 0 or attempts - 1 >= ceiling.bit_length():
        return min(ceiling, base) if base == 0 else ceiling
    return min(ceiling, base << (attempts - 1))
