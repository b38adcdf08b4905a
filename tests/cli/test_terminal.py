"""On a terminal: questions, tables, differences; the same on both servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell, both_shells
from tests.support.server import Kind


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Shell]]:
    with both_shells(tmp_path_factory.mktemp("terminal")) as found:
        yield found


@pytest.fixture
def shell(kind: Kind, shells: dict[Kind, Shell]) -> Shell:
    return shells[kind]


def test_streams_and_consumers_by_answers(shell: Shell) -> None:
    answers = [
        ("Stream name", "ASKED"),
        ("Subjects", "foo, bar"),
        ("Storage (file, memory) [file]", "memory"),
        ("Retention policy", ""),
        ("Discard policy", ""),
        ("Most messages [-1]", "many"),
        ("'many'", ""),
        ("Most per subject [-1]", ""),
        ("Total size [-1]", "1M"),
        ("Message age [-1]", "soon"),
        ("no duration", "1h30m"),
        ("Message size [-1]", ""),
        ("Duplicate window [2m]", ""),
    ]
    made = shell.typed("stream", "add", answers=answers)
    assert made.status == 0
    for line in ("Subjects: foo, bar", "Storage: Memory", "Age: 1h30m", "Bytes: 1.0 MiB"):
        assert line in made.out
    shell.ok("pub", "foo", "one", "-J")
    shell.ok("pub", "bar", "two", "-J")
    table = shell.typed("stream", "ls")
    assert "│ ASKED │" in table.out

    answers = [
        ("1) ASKED", ""),
        ("Consumer name", "C"),
        ("Delivery target", ""),
        ("Start policy", "nonsense"),
        ("neither a time", "2"),
        ("Ack policy", ""),
        ("Replay policy", ""),
        ("Filter by subjects", ""),
        ("Most deliveries", "3"),
    ]
    order = [answers[1], *answers[2:], answers[0]]
    made = shell.typed("consumer", "add", answers=order)
    assert made.status == 0
    assert "From Sequence 2" in made.out
    got = shell.typed("consumer", "next", answers=[("1) ASKED", "1"), ("1) C", "")])
    assert "two" in got.out

    refused = shell.typed("stream", "rm", "ASKED", answers=[("Really delete stream ASKED?", "n")])
    assert (refused.status, "nothing was done" in refused.out) == (1, True)
    edit = ["stream", "edit", "ASKED", "--max-age", "2h"]
    changed = shell.typed(*edit, answers=[("+ max_age: 2h\nReally change stream ASKED?", "y")])
    assert (changed.status, "Maximum Age: 2h" in changed.out) == (0, True)
    viewed = shell.typed("stream", "view", "ASKED", "1", answers=[("one\n\nNext page? [yes]", "")])
    assert (viewed.status, "two" in viewed.out) == (0, True)
    removed = shell.typed(
        "stream", "rm", answers=[("1) ASKED", "9"), ("9", "ASKED"), ("Really", "y")]
    )
    assert (removed.status, "was deleted" in removed.out) == (0, True)


def test_control_characters_do_not_reach_the_terminal(shell: Shell) -> None:
    shell.ok("stream", "add", "ODD", "--subjects", "odd")
    shell.ok("pub", "odd", "\x1b[2Jgone", "-J", "-H", "A:\x1b[2J")
    shown = shell.typed("stream", "get", "ODD", "1").out
    assert shown.count("\\x1b[2J") == 2
    assert shell("stream", "get", "ODD", "1", "--raw").out == "\x1b[2Jgone\n"
    shell.ok("stream", "rm", "ODD", "-f")
