"""Stories: files with commands and what they print, without what differs from run to run.

    $ pub orders.new 'a book' -J
    Published 6 bytes to orders.new, stored in ORDERS as 1
    $ stream rm ORDERS
    jetstream-py: error: ...
    = 2

`<<< text` is standard input. `python -m tests.cli` writes them anew, from nats-server.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.cli.shell import Shell

STORIES = Path(__file__).with_name("stories")


def commands(story: str) -> list[str]:
    return [line for line in story.splitlines() if line.startswith("$ ")]


def played(shell: Shell, story: str, directory: Path) -> str:
    """The story as it goes with this shell. {dir} in commands is a directory of its own."""
    return "".join(_told(shell, commands(story), directory))


def _told(shell: Shell, lines: list[str], directory: Path) -> Iterator[str]:
    for line in lines:
        words = shlex.split(line[2:].replace("{dir}", str(directory)))
        stdin = b""
        if "<<<" in words:
            at = words.index("<<<")
            stdin = words[at + 1].replace("\\n", "\n").encode()
            del words[at:]
        done = shell(*words, stdin=stdin)
        told = done.text.replace(str(directory), "{dir}").replace(shell.url, "URL")
        end = f"= {done.status}\n" if done.status else ""
        yield f"{line}\n{told}{end}"
