"""`python -m benchmarks.worker`: one role in its own process, driven over stdin and stdout.

    parent: {"role": "Publisher", "args": {...}}     worker: {"ready": true}
    parent: go                                       worker: {"facts": {...}, "started": ..., ...}

One JSON object per line. An end of stdin at any point ends the worker: it cannot outlive its parent
by more than its own timeout.
"""

from __future__ import annotations

import gc
import json
import sys
from io import FileIO
from typing import Any

from benchmarks import wire
from benchmarks.procfs import Moment
from benchmarks.roles import ROLES
from benchmarks.roles.base import Proves, Role
from benchmarks.roles.pull import Manner


def main() -> int:
    commands = FileIO(0)  # Unbuffered: roles look at the descriptor to learn of a stop.
    first = commands.readline()
    if not first:
        return 0
    try:
        return _play(json.loads(first), commands)
    except Exception as error:
        _tell({"error": f"{type(error).__name__}: {error}"})
        return 1


def _play(spec: dict[str, Any], commands: FileIO) -> int:
    role = _cast(spec["role"], spec["args"])
    role.prepare()
    gc.collect()
    gc.disable()
    _tell({"ready": True})
    if commands.readline().strip() != b"go":
        return 0
    before = Moment.now()
    facts = role.run()
    after = Moment.now()
    if isinstance(role, Proves):
        facts |= role.prove()
    _tell(
        {
            "facts": facts,
            "started": before.wall,
            "ended": after.wall,
            "cpu": after.cpu - before.cpu,
            "queued": after.queued - before.queued,
        }
    )
    # The connection stays open until the parent has looked at the server.
    commands.readline()
    role.close()
    return 0


def _cast(name: str, args: dict[str, Any]) -> Role:
    if "load" in args:
        args["load"] = wire.Load(**args["load"])
    if "manner" in args:
        args["manner"] = Manner(**args["manner"])
    return ROLES[name](**args)


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
