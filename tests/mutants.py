"""The clauses that matter most, each with a way to break it, and the tests that must notice (see `tests.mutate`)."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One clause broken: in `file`, `old` (which stands there exactly once) becomes `new`; of the tests in `at` those
    named `tests` (as pytest's -k takes it) must then fail."""

    clause: str
    file: str
    old: str
    new: str
    tests: str
    at: str = "tests/conformance"


LIFECYCLE = "runtime/protocol/lifecycle.py"
RECEIVE = "runtime/protocol/receive.py"
ADMIT = "runtime/store/verbs/admit.py"
CLAIM = "runtime/store/verbs/claim.py"
COMMIT = "runtime/store/verbs/commit_step.py"
OPERATIONS = "runtime/store/verbs/operations.py"
BARRIER = "runtime/store/verbs/transition.py"
TRANSACTION = "runtime/store/transaction.py"
SQL = "runtime/store/sql"
NEWCOMER = "flow.served = max(flow.served, newcomer)"
SORTED = "rows.sort(key=TURN)"
REDRIVE_STALE = (
    "if facts.generation != generation:\n        return Verdict.STALE, f\"the job's generation is {facts.generation}, "
    'not {generation}"\n    if facts.state != Phase.QUARANTINED:'
)

MUTANTS = (
    # the fence and the lease
    Mutant("a lease is live on its last tick", LIFECYCLE, "if now <= facts.lease", "if now < facts.lease", "r20"),
    Mutant("a lapsed lease is expired", LIFECYCLE, "if now <= facts.lease else Verdict.EXPIRED", "", "r21 or r23"),
    Mutant(
        "expired until the generation rises",
        LIFECYCLE,
        "EXPIRED if facts.lease is not None else",
        "STALE if facts.lease is not None else",
        "swept",
    ),
    Mutant("the generation fences", LIFECYCLE, "facts.generation != token.generation", "False", "r24 or v12"),
    Mutant("the cursor fences", LIFECYCLE, "or facts.cursor != token.cursor", "", "v12"),
    Mutant("the binding revision fences", LIFECYCLE, "or facts.binding != token.binding_revision", "", "v12"),
    Mutant("the digest fences", LIFECYCLE, "or facts.definition != definition", "", "v12"),
    Mutant(
        "under hold a late callback works",
        LIFECYCLE,
        "if facts.state == HELD:\n        return",
        "if False:\n        return",
        "hold",
    ),
    Mutant("held jobs are not swept", CLAIM, '"due": None if policy.hold else lease + 1', '"due": lease + 1', "d07"),
    # admission
    Mutant(
        "identity before the door",
        ADMIT,
        "if known is not None:",
        "if known is not None and self.tx.control.mode == Mode.OPEN:",
        "d08",
    ),
    Mutant(
        "a shut door admits nothing", ADMIT, "if control.mode != Mode.OPEN:", "if control.mode == Mode.PAUSED:", "d08"
    ),
    Mutant(
        "the door before capacity",
        ADMIT,
        "if control.mode != Mode.OPEN:",
        "if control.mode != Mode.OPEN and control.capacity is None:",
        "d09",
    ),
    Mutant(
        "every unfinished job counts against capacity",
        ADMIT,
        "control.unfinished >= control.capacity",
        "control.unfinished > control.capacity",
        "d09",
    ),
    Mutant("numbers have no gap", ADMIT, "flow.next_seq += 1", "flow.next_seq += 2", "r01"),
    Mutant("another payload is a conflict", ADMIT, '("payload", body == known.body)', '("payload", True)', "r03"),
    # the fair order
    Mutant(
        "the smallest served first",
        f"{SQL}/claim.sqlite.sql",
        "order by f.served, f.id limit :limit",
        "order by f.id limit :limit",
        "fair_order",
    ),
    Mutant(
        "a tie goes to the older flow",
        CLAIM,
        SORTED,
        "rows.sort(key=lambda row: (row[1], -row[0]))",
        "older_flow",
    ),
    Mutant(
        "a tie goes to the older job without a flow",
        f"{SQL}/claim.sqlite.sql",
        "order by a.served, a.id limit :limit",
        "order by a.served, a.id desc limit :limit",
        "older_flow",
    ),
    Mutant(
        "a job in a flow wakes a pool that waits",
        f"{SQL}/look.sqlite.sql",
        "exists (select 1 from keepstep_flow where next_definition = d.id)",
        "0",
        "admitted_while_it_waits",
        at="tests/runtime",
    ),
    Mutant("newcomers join behind", ADMIT, NEWCOMER, f"if flow.next_seq > 1: {NEWCOMER}", "r12"),
    Mutant("who comes back joins behind", ADMIT, NEWCOMER, f"if flow.next_seq == 1: {NEWCOMER}", "comes_back"),
    Mutant(
        "a head in flight blocks its flow",
        f"{SQL}/transaction.sqlite.sql",
        "keepstep_flow.taken + (t.value ->> 1) = 0 and not",
        "not",
        "behind_a_head",
    ),
    Mutant(
        "a quarantined head blocks its flow",
        f"{SQL}/transaction.sqlite.sql",
        "p.state in (3, 4)",
        "p.state in (3)",
        "r15",
    ),
    Mutant(
        "a free flow stops at its width",
        f"{SQL}/transaction.sqlite.sql",
        "< keepstep_flow.width",
        "<= keepstep_flow.width",
        "free_flow",
    ),
    Mutant(
        "a claim raises the generation",
        f"{SQL}/claim.sqlite.sql",
        "generation = generation + 1",
        "generation = generation",
        "r22",
    ),
    Mutant(
        "a claim uses an attempt", f"{SQL}/claim.sqlite.sql", "attempts = attempts + 1", "attempts = attempts", "r17"
    ),
    # failure
    Mutant(
        "the budget ends in quarantine",
        "runtime/store/verbs/fail.py",
        "facts.attempts >= policy.budget",
        "facts.attempts > policy.budget",
        "r17",
    ),
    Mutant(
        "a lapse spends the budget",
        "runtime/store/verbs/sweep.py",
        "spent = facts.attempts >= budget",
        "spent = False",
        "r19",
    ),
    Mutant("waits double", "runtime/protocol/retry.py", "base << (attempts - 1)", "base * attempts", "r18"),
    Mutant(
        "a release gives the attempt back", "runtime/store/verbs/release.py", "facts.attempts -= 1", "pass", "released"
    ),
    # commit
    Mutant("an effect goes with the cursor", COMMIT, "if self.effects:", "if False:", "r26"),
    Mutant("the registry is compared", COMMIT, "!= manifest.canonical", "is None", "v22"),
    Mutant(
        "a step is progress",
        f"{SQL}/commit_step.sqlite.sql",
        "set state = 0, cursor = cursor + 1, attempts = 0,",
        "set state = 0, cursor = cursor + 1,",
        "progress",
    ),
    # operators
    Mutant("stale before refused", LIFECYCLE, REDRIVE_STALE, "if facts.state != Phase.QUARANTINED:", "r39"),
    Mutant("only the quarantined are redriven", LIFECYCLE, "if facts.state != Phase.QUARANTINED:", "if False:", "r39"),
    Mutant(
        "an operator raises the generation",
        OPERATIONS,
        "facts.generation += 1\n        facts.attempts = 0",
        "facts.attempts = 0",
        "r38",
    ),
    Mutant("a redrive is a new budget", OPERATIONS, "facts.attempts = 0", "pass", "r40"),
    Mutant("an act leaves its audit row", OPERATIONS, "if self.audits:", "if False:", "r38"),
    Mutant("no step may be committed to migrate", LIFECYCLE, "elif facts.cursor > 0:", "elif False:", "v16"),
    Mutant("only the ready are migrated", LIFECYCLE, "elif not as_ready and", "elif False and", "v16"),
    Mutant("cursor 0 is no proof under hold", LIFECYCLE, "and not effects_checked", "and False", "v18"),
    Mutant("the binding revision counts migrations", OPERATIONS, "facts.binding += 1", "pass", "v17"),
    Mutant(
        "a late switch is stale",
        "runtime/store/verbs/switch.py",
        "if item.expected_revision != revision:",
        "if False:",
        "v06",
    ),
    # the barrier
    Mutant("the version is judged first", BARRIER, "if item.expected_version != version:", "if False:", "d10"),
    Mutant("the mode is judged before what is unfinished", BARRIER, "if mode not in allowed:", "if False:", "d06"),
    Mutant(
        "a ready job blocks",
        f"{SQL}/transition.sqlite.sql",
        "exists (select 1 from keepstep_job where state = 0 and served is null and flow > 0)",
        "0",
        "keeps_pause_busy",
    ),
    Mutant(
        "a ready job without a flow blocks",
        f"{SQL}/transition.sqlite.sql",
        "exists (select 1 from keepstep_job where state = 0 and served is not null and definition > 0)",
        "0",
        "keeps_pause_busy",
    ),
    Mutant(
        "waiting and in flight block",
        f"{SQL}/transition.sqlite.sql",
        "exists (select 1 from keepstep_job where due is not null)",
        "0",
        "d04",
    ),
    Mutant(
        "held and quarantined block",
        f"{SQL}/transition.sqlite.sql",
        "exists (select 1 from keepstep_job where state in (3, 4) and flow >= 0)",
        "0",
        "d04",
    ),
    Mutant("a success raises the version", BARRIER, "control.version += 1", "pass", "d11"),
    Mutant(
        "a receipt stands for its own command only",
        "runtime/store/verbs/receipts.py",
        "if known[:2] == (tx.verb, arguments):",
        "if True:",
        "d17",
    ),
    # time
    Mutant("a logical clock never goes back", TRANSACTION, "if self.now < control.tick:", "if False:", "r28"),
    Mutant("every answered write moves the tick", TRANSACTION, "control.tick = self.now", "pass", "r29"),
    # the receiver
    Mutant("nothing is skipped", RECEIVE, "if message.seq != head.next_seq:", "if False:", "r33"),
    Mutant("a number is taken once", RECEIVE, "if other is not None:", "if False:", "r32"),
    Mutant("another body is a conflict", RECEIVE, '("flow", "seq", "body")', '("flow", "seq")', "r32"),
    Mutant("beyond the capability is unsupported", RECEIVE, "if message.delta > facts.max_delta:", "if False:", "r36"),
    Mutant("a delta counts once", RECEIVE, "if kept is not None:", "if False:", "r31"),
)
