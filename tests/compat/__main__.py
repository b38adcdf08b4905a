"""Write the compatibility page, or check it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.compat.catalogue import behaviours, differences
from tests.compat.collect import collect
from tests.compat.page import render

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compat", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the page is out of date")
    options = parser.parse_args()

    known = behaviours()
    collected = collect()
    unknown = {name: test for name, test in collected.claims.items() if name not in known}
    for name, test in unknown.items():
        print(f"{test} claims to prove {name}, which is not in behaviours.csv", file=sys.stderr)
    if unknown:
        return 1

    page = render(known, differences(known), collected.proofs)
    if options.check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
            print(f"{PAGE.name} is not what the tests prove; run make compat", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
