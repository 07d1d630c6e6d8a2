"""Weft: simulates collective operations on GPU clusters.

    import weft
    rows = weft.run({"fabric": {"type": "star", "nodes": 8, "link": {"bandwidth": "100Gbps", "latency": "1us"}},
                     "workload": {"algorithm": ["ring", "halving_doubling"], "size": "1MiB"}})
    pandas.DataFrame(rows)[["algorithm", "time_us", "busbw_GBps"]]

Input that cannot be used raises weft.InputError (a ValueError) with everything that is wrong, a run that fails weft.RunError.
"""
import json
import os

from . import _weft
from ._weft import InputError, RunError

__version__ = _weft.version
InputError.__module__ = RunError.__module__ = __name__
__all__ = ["InputError", "RunError", "Schedule", "run", "schedule", "schema"]


def _text_and_folder(scenario, folder):
    if isinstance(scenario, (str, os.PathLike)):
        with open(scenario, encoding="utf-8") as file:
            return file.read(), os.fspath(folder) if folder is not None else os.path.dirname(os.fspath(scenario))
    scenario = dict(scenario)
    scenario.setdefault("schema", 1)
    scenario.setdefault("name", "python")
    return json.dumps(scenario), os.fspath(folder) if folder is not None else ""


def _settings(set):
    return [f"{pointer}={value if isinstance(value, str) else json.dumps(value)}" for pointer, value in (set or {}).items()]


def run(scenario, *, set=None, folder=None, workers=0):
    """Simulates a scenario, a dictionary or the name of a JSON file, and returns its rows.

    Each row is a dictionary: the columns of results.csv, None where one does not apply, and what a sweep has set, by its JSON
    pointer. `set` maps JSON pointers to values, as --set does; `folder` is where files that the scenario names are, and hardware/
    with profiles of one's own; `workers` rows are simulated at once, one for each core if 0.
    """
    text, folder = _text_and_folder(scenario, folder)
    return json.loads(_weft.run(text, folder, _settings(set), workers))


class Schedule:
    """What each rank sends in each step: `transfers` is a list of dictionaries, for pandas.DataFrame or a loop."""

    def __init__(self, fields):
        self.name, self.collective, self.root = fields["name"], fields["collective"], fields["root"]
        self.ranks, self.servers = fields["ranks"], fields["servers"]
        self.chunks, self.extra_chunks = fields["chunks"], fields["extra_chunks"]
        self.steps, self.messages = fields["steps"], fields["messages"]
        self.transfers = fields["transfers"]

    def __repr__(self):
        return f"<weft.Schedule {self.name}: {self.ranks} ranks, {self.steps} steps, {self.messages} messages, {self.chunks} chunks>"


def schedule(algorithm, ranks=None, *, collective="allreduce", fabric=None, server=None, root=0):
    """The schedule of an algorithm, proved right: schedule("ring", 4), schedule({"name": "ring", "channels": 2}, 8).

    Algorithms that depend on where ranks sit take the `fabric` (and the `server`) as a scenario has them:
    schedule("hdrm", fabric={"type": "bigraph", "switches": 8, "nodes_per_switch": 4, "link": {...}}).
    """
    if fabric is None:
        if ranks is None:
            raise InputError("ranks: must be given where no fabric is")
        fabric = {"type": "star", "nodes": ranks, "link": {"bandwidth": "100Gbps", "latency": "1us"}}
    workload = {"collective": collective, "algorithm": algorithm}
    if collective != "barrier":
        workload["size"] = "1MiB"
    if ranks is not None:
        workload["ranks"] = ranks
    if root:
        workload["root"] = root
    scenario = {"schema": 1, "name": "schedule", "fabric": fabric, "workload": workload}
    if server is not None:
        scenario["server"] = server
    return Schedule(json.loads(_weft.schedule(json.dumps(scenario), "", [])))


def schema():
    """The JSON Schema of scenarios, as a dictionary."""
    return json.loads(_weft.schema())
