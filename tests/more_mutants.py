"""More clauses, each with a way to break it: the second list of the drill (see `tests.mutate`)."""

from tests.mutants import ADMIT, BARRIER, CLAIM, COMMIT, LIFECYCLE, OPERATIONS, SQL, Mutant

VERBS = "runtime/store/verbs"
GROUP = "runtime/store/group.py"
DRIVER = "runtime/store/sqlite.py"

MORE = (
    # admission
    Mutant(
        "capacity before the route",
        ADMIT,
        "control.unfinished >= control.capacity",
        "control.unfinished >= control.capacity and item.workflow in self.routes",
        "no_route",
    ),
    Mutant(
        "a flow at its limit is full",
        ADMIT,
        "(flow.unfinished if flow else 0) >= limit",
        "(flow.unfinished if flow else 0) > limit",
        "flow_at_its_limit",
    ),
    Mutant(
        "a replay never reads the route again",
        ADMIT,
        "if known is not None:",
        "if known is not None and known.record.current_digest == self.routes[item.workflow].digest:",
        "v08",
    ),
    Mutant(
        "a flow is made once, by its first admission",
        ADMIT,
        "flow = self.flows.get(name)",
        "flow = None",
        "later_wish",
    ),
    # fair claims
    Mutant("tickets have no gap", CLAIM, "control.ticket += len(slots)", "control.ticket += len(slots) + 1", "r06"),
    Mutant(
        "what is not declared is skipped",
        f"{SQL}/claim.sqlite.sql",
        "on f.next_definition = d.value",
        "on f.next_definition is not null",
        "v11",
    ),
    Mutant(
        "a free flow waits for who declares its next job",
        f"{SQL}/claim.sqlite.sql",
        "where foreign_seen = 0",
        "where foreign_seen >= 0",
        "does_not_declare",
    ),
    Mutant(
        "a held job takes a place of its flow",
        LIFECYCLE,
        "phase in (Phase.INFLIGHT, Phase.HELD) or",
        "phase == Phase.INFLIGHT or",
        "hold",
    ),
    Mutant("claims go on while draining", CLAIM, "if mode == Mode.PAUSED:", "if mode != Mode.OPEN:", "d03"),
    Mutant(
        "a claim raises the lifetime attempts",
        f"{SQL}/claim.sqlite.sql",
        "lifetime = lifetime + 1",
        "lifetime = lifetime",
        "r40 or v18",
    ),
    Mutant(
        "served is the ticket of the flow's last claim",
        CLAIM,
        "entry[1] = ticket",
        "entry[1] = control.ticket",
        "r06 or r12",
    ),
    # commits, leases, failures, answers
    Mutant(
        "an undeclared digest writes nothing",
        COMMIT,
        "raise Undeclared(item.worker.id, item.token.digest)",
        "return",
        "v12",
    ),
    Mutant(
        "effects are a gapless prefix",
        COMMIT,
        "row = (facts.id, facts.cursor, facts.definition",
        "row = (facts.id, facts.cursor + 1, facts.definition",
        "r26 or v13",
    ),
    Mutant("a second delivery in a batch is judged anew", COMMIT, "facts.cursor += 1", "pass", "r26"),
    Mutant(
        "a handler's writes are undone together",
        COMMIT,
        'raw.execute("rollback to writes")',
        "pass",
        "write_that_fails",
    ),
    Mutant(
        "a refused commit does none of its writes",
        COMMIT,
        "            return self.callbacks.refuse(",
        "            run_writes(self.tx, item.writes)\n            return self.callbacks.refuse(",
        "stale_or_expired",
    ),
    Mutant(
        "refusals of one kind are counted in one row",
        f"{SQL}/transaction.sqlite.sql",
        "do update set times = times + 1, last_at = excluded.last_at",
        "do nothing",
        "refusals_of_one_kind",
    ),
    Mutant(
        "a lapse leaves a row of history", f"{VERBS}/sweep.py", 'tx.note(facts, "lapsed", why)', "pass", "sweep_leaves"
    ),
    Mutant(
        "a failure leaves a row of history",
        f"{VERBS}/fail.py",
        'tx.note(facts, "failed", reason)',
        "pass",
        "redrive_does_not_erase",
    ),
    Mutant(
        "no renewal goes past the time limit and one lease",
        f"{VERBS}/renew.py",
        "min(tx.now + policy.lease, facts.since + policy.time_limit + policy.lease)",
        "tx.now + policy.lease",
        "no_renewal",
    ),
    Mutant(
        "a wished wait replaces the backoff",
        f"{VERBS}/fail.py",
        "backoff(facts.attempts, policy.base, policy.ceiling) if item.after is None else item.after",
        "backoff(facts.attempts, policy.base, policy.ceiling)",
        "wished_wait",
    ),
    Mutant(
        "a waiting job is due at its tick", f"{SQL}/sweep.sqlite.sql", "j.due <= :now", "j.due < :now", "r14 or r17"
    ),
    Mutant("an answer comes after the commit", GROUP, 'raw.execute("commit")', 'raw.execute("rollback")', "r01"),
    Mutant(
        "an error out of COMMIT is an unknown outcome",
        GROUP,
        "raise unknown(error) from error",
        'raise named(error, "commit") from error',
        "error_out_of_commit",
        "tests/crash/test_unknown_outcome.py",
    ),
    Mutant(
        "after an unknown outcome nothing is served",
        "runtime/store/writer.py",
        "self.failed = request.error",
        "pass",
        "error_out_of_commit",
        "tests/crash/test_unknown_outcome.py",
    ),
    Mutant(
        "what was answered survives a power loss", DRIVER, '"full": 2', '"full": 1', "answered_rows", "tests/powerloss"
    ),
    Mutant(
        "one caller's fault fails no other",
        GROUP,
        "not everybodys and (len(requests) > 1 or",
        "not everybodys and (",
        "one_caller",
    ),
    # operators and the barrier
    Mutant(
        "a recover raises the generation",
        OPERATIONS,
        "        desk.ready(facts)\n        if target",
        "        desk.ready(facts)\n        facts.generation -= verdict == Verdict.RECOVERED\n        if target",
        "v20",
    ),
    Mutant(
        "a redrive raises the generation",
        OPERATIONS,
        "        desk.ready(facts)\n        if target",
        "        desk.ready(facts)\n        facts.generation -= verdict == Verdict.REDRIVEN\n        if target",
        "r38",
    ),
    Mutant(
        "a migrate raises the generation",
        OPERATIONS,
        'verb="migrate")\n        self.ready(facts)',
        'verb="migrate")\n        self.ready(facts)\n        facts.generation -= 1',
        "v15",
    ),
    Mutant(
        "an operator's quarantine raises the generation",
        f"{VERBS}/quarantine_job.py",
        "        facts.generation += 1\n",
        "",
        "operator_quarantines",
    ),
    Mutant(
        "a redrive is for any cursor",
        LIFECYCLE,
        "return Verdict.REDRIVEN, None",
        "return (Verdict.REFUSED, 'steps are committed') if facts.cursor else (Verdict.REDRIVEN, None)",
        "committed_steps",
    ),
    Mutant(
        "the reason of a quarantine moves into the audit row",
        f"{VERBS}/redrive.py",
        '"reason": facts.reason,',
        "",
        "r38",
    ),
    Mutant(
        "what was observed is compared before a migrate",
        f"{VERBS}/migrate.py",
        "if item.binding_revision != facts.binding:",
        "if False:",
        "v16",
    ),
    Mutant(
        "a target is of the same workflow", LIFECYCLE, "elif target.workflow != source.workflow:", "elif False:", "v16"
    ),
    Mutant(
        "a recover says whether the lease was live",
        OPERATIONS,
        "tx.now <= facts.lease",
        "tx.now > facts.lease",
        "live_lease",
    ),
    Mutant(
        "a switch leaves its audit row",
        f"{VERBS}/switch.py",
        'tx.many("transaction.audit", audits)',
        "pass",
        "switch_leaves",
    ),
    Mutant(
        "a barrier command leaves its audit row",
        BARRIER,
        'tx.many("transaction.audit", audits)',
        "pass",
        "one_audit_row",
    ),
    Mutant(
        "a setting leaves its audit row",
        f"{VERBS}/set.py",
        'tx.many("transaction.audit", audits)',
        "pass",
        "setting_leaves",
    ),
    Mutant(
        "failures leave no receipt",
        f"{VERBS}/receipts.py",
        "frozenset({Verdict.BUSY, Verdict.STALE, Verdict.REFUSED, Verdict.UNKNOWN, Verdict.CONFLICT})",
        "frozenset[Verdict]()",
        "leave_no_receipt",
    ),
    Mutant(
        "a drain remembers to pause when empty",
        BARRIER,
        'if item.action == "drain" and item.pause_when_empty else None',
        "if False else None",
        "pause_when_empty",
    ),
    Mutant(
        "resume opens a draining store too",
        BARRIER,
        "(Mode.DRAINING, Mode.PAUSED), Mode.OPEN",
        "(Mode.PAUSED,), Mode.OPEN",
        "d10 or d11",
    ),
    # batches, groups, and what is everybody's
    Mutant(
        "a cancelled turn keeps no claims",
        "runtime/store/store.py",
        "                    request.abandon()",
        "                    pass",
        "pools_turn_that_is_cancelled",
    ),
    Mutant(
        "answers that nobody takes are given back",
        "runtime/store/writer.py",
        "            self._give_back(self)",
        "            pass",
        "given_back",
    ),
    Mutant(
        "after an unknown outcome nothing more is run",
        GROUP,
        "if not isinstance(request.error, CommitUnknown):",
        "if True:",
        "nothing_more",
        at="tests/crash/test_unknown_outcome.py",
    ),
    Mutant(
        "a malformed virtual table is its item's fault",
        DRIVER,
        " and code != sqlite3.SQLITE_CORRUPT_VTAB",
        "",
        "fails_no_neighbour",
    ),
    Mutant(
        "what is no item is its own error",
        "runtime/store/requests.py",
        "if not isinstance(item, kind):",
        "if False:",
        "no_item_fails",
    ),
    Mutant(
        "a sweep is bounded",
        f"{VERBS}/sweep.py",
        'if tx.control.clock == "wall" else',
        "if False else",
        "sweep_moves",
    ),
    Mutant(
        "a dead worker is gone though the clock went back",
        "runtime/store/reads.py",
        "abs(wall_ms - row[4])",
        "(wall_ms - row[4])",
        "gone_three_seconds",
    ),
    Mutant(
        "what lies beside the database is looked at",
        DRIVER,
        'BESIDE = ("-wal", "-shm", "-journal", "-queue", "-turn")',
        "BESIDE: tuple[str, ...] = ()",
        "lies_beside",
    ),
)
