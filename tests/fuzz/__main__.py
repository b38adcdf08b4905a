"""`python -m tests.fuzz`: the protocol fuzz in its long forms.

--cases N     seeded conversations against the model (default 2,000,000)
--first S     the first seed
--case S      replay one seed and show it
--collected   conversations with collectors instead: runs of publishes to streams
--atheris S   coverage-guided, for S seconds (needs the `fuzz` extra)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from tests.fuzz import protocol

SLICE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=2_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--collected", action="store_true")
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
    if args.atheris:
        command = [sys.executable, "-m", "tests.fuzz.guided", str(args.atheris)]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
