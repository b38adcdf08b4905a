"""`python -m tests.crash [--cycles N] [--seed S]`: the kill test in its long form."""

from __future__ import annotations

import argparse
import time

from tests.crash.cycles import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.crash")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    tally = run(args.cycles, args.seed)
    seconds = time.monotonic() - began
    print(
        f"{tally.cycles} kills in {seconds:.1f} s: {tally.published} published, "
        f"{tally.received} received by two readers, all whole and in order"
    )


if __name__ == "__main__":
    main()
