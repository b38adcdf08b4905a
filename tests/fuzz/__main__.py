"""`python -m tests.fuzz`: the protocol fuzz in its long forms.

--cases N     seeded conversations against the model (default 2,000,000)
--first S     the first seed
--case S      replay one seed and show it
--collected   conversations with collectors instead: runs of publishes to streams
--consumers N histories of streams with consumers, of each kind (default 100)
--permissions N cases of users, rules and ways (default 50,000), and a tenth of stories with streams
--atheris S   coverage-guided, for S seconds (needs the `fuzz` extra)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engine.test_consumer_machine import MACHINES, QUICK
from tests.fuzz import protocol
from tests.security import stream_paths
from tests.server.permission_paths import cases, check

SLICE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=2_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--collected", action="store_true")
    parser.add_argument("--consumers", type=int, default=100)
    parser.add_argument("--permissions", type=int, default=50_000)
    parser.add_argument("--atheris", type=int, default=60)
    args = parser.parse_args()
    kind = protocol.Collected if args.collected else protocol.Fuzz
    if args.case is not None:
        print(protocol.start(args.case)[1:])
        protocol.run(args.case, 1, kind)
        return
    began = time.monotonic()
    for first in range(args.first, args.first + args.cases, SLICE):
        protocol.run(first, min(SLICE, args.first + args.cases - first), kind)
        print(
            f"{first + SLICE - args.first:>10} cases, {time.monotonic() - began:.0f} s", flush=True
        )
    if args.consumers:
        consumer_histories(args.consumers)
    if args.permissions:
        permissions(args.permissions)
    if args.atheris:
        command = [sys.executable, "-m", "tests.fuzz.guided", str(args.atheris)]
        sys.exit(subprocess.run(command, check=False).returncode)


def consumer_histories(count: int) -> None:
    """Longer ones than the suite plays, and never the same."""
    for machine in MACHINES:
        began = time.monotonic()
        longer = settings(
            QUICK, max_examples=count, stateful_step_count=60, derandomize=False, database=None
        )
        run_state_machine_as_test(machine, settings=longer)
        seconds = time.monotonic() - began
        print(f"{machine.__name__}: {count} histories, {seconds:.0f} s", flush=True)


def _long(count: int) -> settings:
    """So many cases, however busy the machine is."""
    slow = [HealthCheck.too_slow]
    return settings(max_examples=count, deadline=None, database=None, suppress_health_check=slow)


def permissions(count: int) -> None:
    began = time.monotonic()
    given(cases)(_long(count)(check))()
    print(f"permissions: {count} cases, {time.monotonic() - began:.0f} s", flush=True)
    began, stories = time.monotonic(), max(1, count // 10)
    with stream_paths.house() as house:

        @_long(stories)
        @given(stream_paths.cases)
        def play(case: stream_paths.Case) -> None:
            stream_paths.check(house, case)

        play()
    print(f"permissions: {stories} stories, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
