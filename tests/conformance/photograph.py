"""What a store's file shows, in the words of the model, and how it differs from a model."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from runtime.protocol.canonical import decode
from runtime.store.reads import Reader
from runtime.store.store import Store
from tests.conformance.model import Job, Model

STATES = ("ready", "ready", "inflight", "inflight", "quarantined", "done")

CONTROL = ("tick", "mode", "version", "ticket", "capacity", "flow_capacity", "newcomers")
JOBS = """
select j.key, a.workflow, f.name, j.seq, a.digest, d.digest, j.binding, j.state, j.cursor, j.generation, j.attempts,
  j.lifetime, j.due, j.lease, j.since, w.name, j.reason
from keepstep_job j join keepstep_definition a on a.id = j.accepted join keepstep_definition d on d.id = j.definition
left join keepstep_flow f on f.id = j.flow left join keepstep_worker w on w.id = j.worker
"""
EFFECTS = """
select j.key, e.step, s.name, d.digest, e.value from keepstep_effect e join keepstep_job j on j.id = e.job
join keepstep_definition d on d.id = e.definition
join keepstep_step s on s.definition = e.definition and s.ix = e.step order by e.job, e.step
"""
FLOWS = "select name, width, served, next_seq from keepstep_flow where name is not null"
ROUTES = """
select r.workflow, d.digest, r.revision from keepstep_route r join keepstep_definition d on d.id = r.definition
"""
AUDIT = """
select a.verb, j.key, a.before ->> 'digest', a.after ->> 'digest' from keepstep_audit a
left join keepstep_job j on j.id = a.job order by a.id
"""
HISTORY = """
select j.key, h.what, sum(h.times) from keepstep_history h join keepstep_job j on j.id = h.job group by j.key, h.what
"""
DEFINITIONS = "select digest from keepstep_definition"


@dataclass
class Photograph:
    """The file, by name of job or flow."""

    control: dict[str, Any]
    jobs: dict[str, dict[str, Any]]
    effects: dict[str, list[tuple[int, str, str, Any]]]
    flows: dict[str, tuple[int | None, int, int]]
    routes: dict[str, tuple[str, int]]
    acts: dict[str, list[str]]
    chain: dict[str, list[tuple[str, str]]]
    verbs: Counter[str]
    history: dict[str, Counter[str]]
    definitions: set[str]


async def photograph(store: Store) -> Photograph:
    """Everything that the model knows of, from one read transaction."""
    return await store.read(_photograph)


def _photograph(reader: Reader) -> Photograph:
    rows = reader.raw.execute
    (row,) = rows(f"select {', '.join(CONTROL)} from keepstep_control, keepstep_counters")
    control = dict(zip(CONTROL, row, strict=True))
    tick = control["tick"]
    effects: dict[str, list[tuple[int, str, str, Any]]] = defaultdict(list)
    for key, step, name, digest, value in rows(EFFECTS):
        effects[key].append((step, name, digest, decode(value)))
    acts: dict[str, list[str]] = defaultdict(list)
    chain: dict[str, list[tuple[str, str]]] = defaultdict(list)
    verbs: Counter[str] = Counter()
    for verb, key, before, after in rows(AUDIT):
        verbs[verb] += 1
        if key is not None:
            acts[key].append(verb)
        if verb == "migrate":
            chain[key].append((before, after))
    history: dict[str, Counter[str]] = defaultdict(Counter)
    for key, what, times in rows(HISTORY):
        history[key][what] = times
    return Photograph(
        control,
        {row[0]: _job(row, tick) for row in rows(JOBS)},
        dict(effects),
        {name: (width or None, served, seq) for name, width, served, seq in rows(FLOWS)},
        {workflow: (digest, revision) for workflow, digest, revision in rows(ROUTES)},
        dict(acts),
        dict(chain),
        verbs,
        history,
        {digest for (digest,) in rows(DEFINITIONS)},
    )


def _job(row: Any, tick: int) -> dict[str, Any]:
    key, workflow, flow, seq, accepted, current, binding, state, cursor, generation, attempts, lifetime = row[:12]
    due, lease, since, worker, reason = row[12:]
    word = STATES[state]
    assert word != "quarantined" or reason, f"{key} is quarantined without a reason"
    return {
        "workflow": workflow,
        "flow": flow,
        "seq": seq,
        "accepted": accepted,
        "current": current,
        "binding": binding,
        "state": word,
        "cursor": cursor,
        "generation": generation,
        "attempts": attempts,
        "lifetime": lifetime,
        "due": due if state == 1 and due > tick else None,
        "claim": (lease, since, worker) if word == "inflight" else None,
    }


def _model_job(job: Job, tick: int) -> dict[str, Any]:
    return {
        "workflow": job.workflow,
        "flow": job.flow.name,
        "seq": job.seq,
        "accepted": job.accepted,
        "current": job.current,
        "binding": job.binding,
        "state": job.state,
        "cursor": job.cursor,
        "generation": job.generation,
        "attempts": job.attempts,
        "lifetime": job.lifetime,
        "due": job.due if job.state == "ready" and job.due is not None and job.due > tick else None,
        "claim": (job.lease, job.since, job.worker) if job.state == "inflight" else None,
    }


def differences(model: Model, seen: Photograph) -> list[str]:
    """A line for each thing that the file shows otherwise than the model."""
    pairs: dict[str, tuple[Any, Any]] = {
        f"the {name}": (seen.control[name], getattr(model, name)) for name in seen.control
    }
    for key in seen.jobs.keys() | model.jobs.keys():
        job = _model_job(model.jobs[key], model.tick) if key in model.jobs else {}
        shown = seen.jobs.get(key, {})
        for name in job.keys() | shown.keys():
            pairs[f"job {key}, {name}"] = (shown.get(name), job.get(name))
        pairs[f"job {key}, effects"] = (seen.effects.get(key, []), model.jobs[key].effects if key in model.jobs else [])
        pairs[f"job {key}, migrations"] = (seen.chain.get(key, []), model.chain.get(key, []))
        history = seen.history.get(key, Counter())
        rows = (sum(history.values()) - history["refused"], history["refused"])
        pairs[f"job {key}, history"] = (rows, (model.jobs[key].events, model.jobs[key].refused) if job else (0, 0))
    flows = {flow.name: (flow.width, flow.served, flow.next_seq) for flow in model.flows if flow.name is not None}
    for flow in seen.flows.keys() | flows.keys():
        pairs[f"flow {flow}, (width, served, next seq)"] = (seen.flows.get(flow), flows.get(flow))
    pairs["the routes"] = (seen.routes, model.routes)
    pairs["the definitions"] = (seen.definitions, set(model.definitions))
    pairs["the audited acts"] = (seen.verbs, Counter(verb for verb, _ in model.audit))
    wrong = ((name, given, right) for name, (given, right) in pairs.items() if given != right)
    return [f"{name}: the store has {given}, the model {right}" for name, given, right in wrong]
