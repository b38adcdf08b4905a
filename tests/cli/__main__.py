"""`python -m tests.cli`: write the stories as nats-server tells them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.cli.shell import both_shells
from tests.cli.story import STORIES, played
from tests.support.server import ORACLE


def main() -> None:
    for file in sorted(STORIES.glob("*.txt")):
        with tempfile.TemporaryDirectory() as name, both_shells(Path(name)) as shells:
            file.write_text(played(shells[ORACLE], file.read_text(), Path(name)))
            print(f"wrote {file.name}")


if __name__ == "__main__":
    main()
