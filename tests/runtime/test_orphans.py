"""No orphans: a worker process that hangs while it imports its app ends as well, once its supervisor is gone."""

import os
import subprocess
import sys
from pathlib import Path

APP = """
import os
import threading
from workers import App

app = App("hangs", abi="local/1")


@app.step
async def nothing(ctx):
    return None


app.manifest([("nothing", nothing)])
try:
    os.mkdir(os.environ["TOLD"] + ".seen")  # the supervisor looks at the app first and goes on
except FileExistsError:
    held = open(os.environ["TOLD"], "w")
    print(os.getpid(), file=held, flush=True)
    threading.Event().wait()
"""


def test_a_process_that_hangs_in_its_apps_import_ends_when_its_supervisor_is_killed(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(APP)
    told = tmp_path / "told"
    os.mkfifo(told)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": paths, "TOLD": str(told)}
    command = [sys.executable, "-m", "runtime", "work", "hanging:app", "--db", str(tmp_path / "app.db")]
    command += ["--processes", "2", "--grace", "200ms", "--hard-limit", "300ms"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as supervisor, told.open() as lines:
        pids = {int(lines.readline()), int(lines.readline())}
        supervisor.kill()
        # the pipe ends when the last of them has ended
        assert lines.read() == ""
    assert supervisor.pid not in pids
