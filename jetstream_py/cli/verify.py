"""`jetstream-py verify DIR`: check a store while no server uses it."""

from __future__ import annotations

import os
import sys

USAGE = """Usage: jetstream-py verify DIR

Checks every block, index and counter of the store in DIR (the directory given to -sd, or the
jetstream directory inside it) and says what is wrong. Immutable streams are hashed again: it tells
where a chain breaks, or the last sequence and hash of each. Stop the server first.

Exit status: 0 when the store is fine, 1 when it is not, 2 when there is nothing to check."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        wanted = arguments in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 2
    directory = arguments[0]
    inner = os.path.join(directory, "jetstream")
    path = inner if os.path.isdir(inner) else directory
    if not os.path.exists(os.path.join(path, "data.mdb")):
        print(f"jetstream-py: there is no store in {directory}", file=sys.stderr)
        return 2
    from jetstream_py.engine.chain import Inspection
    from jetstream_py.store import StoreError, verify

    inspection = Inspection()
    try:
        complaints = verify(path, inspection)
    except StoreError as error:
        complaints = [str(error)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    for head in inspection.heads:
        print(f"immutable stream {head}")
    if not complaints:
        print(f"{path}: no complaints")
    return 1 if complaints else 0
