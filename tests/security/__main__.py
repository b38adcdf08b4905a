"""`python -m tests.security [connections]`: what strangers cost, on ours and on nats-server."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.security.abuse import Attack, Outcome, attacks, play, start
from tests.support.certs import Authority
from tests.support.server import KINDS, OURS, Servers

CONNECTIONS = 300
HEAD = ("attack", "server", "KiB each", "closed: half", "all", "PING p99")
MOST = 64 * 1024


def row(attack: str, kind: str, outcome: Outcome) -> str:
    cells = (
        attack, kind, f"{outcome.held / 1024:.1f}", f"{outcome.median:.2f} s", f"{outcome.last:.2f} s",
        f"{outcome.p99:.1f} ms",
    )  # fmt: skip
    return line(cells)


def line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def main(count: int) -> int:
    print(line(HEAD), line(("---",) * len(HEAD)), sep="\n")
    failed = []
    with tempfile.TemporaryDirectory() as directory:
        authority = Authority(Path(directory))
        calm = Attack("nobody", "nats", b"")
        for attack in (calm, *attacks(authority)):
            for kind in reversed(KINDS):
                with Servers(Path(tempfile.mkdtemp(dir=directory))) as servers:
                    server = start(servers, kind, authority, "TLS" in attack.name)
                    play(server, authority, attack, 10, 3.0)  # what is loaded once is loaded now
                    patience = 40.0 if attack.port == "monitoring" else 6.0
                    outcome = play(
                        server, authority, attack, 1 if attack is calm else count, patience
                    )
                print(row(attack.name, kind, outcome), flush=True)
                if kind == OURS and (outcome.held > MOST or outcome.last > patience):
                    failed.append(attack.name)
    print(f"more than {MOST // 1024} KiB, or not closed: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CONNECTIONS))
