"""Buckets on the command line; the same words from both servers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell, both_shells, steady
from tests.support.server import OURS, Kind

Shells = dict[Kind, Shell]


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shells]:
    with both_shells(tmp_path_factory.mktemp("kv")) as found:
        yield found


@pytest.fixture
def shell(shells: Shells, kind: Kind) -> Shell:
    return shells[kind]


STORY = (
    ("add story --history 5 --description tale", 0),
    ("put story a 1", 0),
    ("put story a 2", 0),
    ("get story a", 0),
    ("get story a --raw", 0),
    ("get story a --revision 1 --raw", 0),
    ("create story a 3", 1),
    ("create story b.c 3", 0),
    ("update story a 4 2", 0),
    ("update story a 4 1", 1),
    ("ls story", 0),
    ("ls story b.>", 0),
    ("ls story --verbose --display-value", 0),
    ("del story a", 2),
    ("del story a -f", 0),
    ("get story a", 1),
    ("history story a", 0),
    ("revert story a 2 -f", 0),
    ("watch story --count 2", 0),
    ("watch story --history --no-deletes --count 2", 0),
    ("ls", 0),
    ("purge story a -f", 0),
    ("history story a", 0),
    ("compact story -f --older-than 0s", 0),
    ("history story a", 1),
    ("info story", 0),
    ("rm story", 2),
    ("rm story -f", 0),
    ("get story a", 1),
    ("ls", 0),
)

TOLD = """\
$ kv add story --history 5 --description tale
Information for Key-Value Store Bucket story created TIME

Configuration:

            Bucket Name: story
            Description: tale
           History Kept: 5
          Values Stored: 0
          Last Revision: 0
             Compressed: false
  Per-Key TTL Supported: false
     Backing Store Kind: JetStream
            Bucket Size: 0 B
    Maximum Bucket Size: unlimited
     Maximum Value Size: unlimited
            Maximum Age: unlimited
       JetStream Stream: KV_story
                Storage: File
"""


def told(shell: Shell) -> str:
    text = ""
    for line, status in STORY:
        done = shell("kv", *line.split())
        assert done.status == status, (line, done)
        text += f"$ kv {line}\n{done.text}"
    return text


def test_a_bucket_from_its_beginning_to_its_end(shells: Shells) -> None:
    ours, theirs = (told(shell) for shell in (shells[OURS], shells["nats-server"]))
    assert ours == theirs
    assert ours.startswith(TOLD)
    assert "story > a revision: 2 created @ TIME\n\n2\n" in ours
    assert "error: there is a value: a has revision 2\n  `jetstream-py kv put`" in ours
    assert "$ kv ls story\na\nb.c\n$ kv ls story b.>\nb.c\n" in ours
    assert "Delete key story > a? Nobody is there to answer: give -f" in ours
    assert "error: a was deleted (DEL) in revision 5" in ours
    assert "a           5  DELETE  TIME       0\n" in ours
    assert "[TIME] PUT story > b.c: 3\n[TIME] PUT story > a: 2\n" in ours
    assert "error: there is no bucket story\n  `jetstream-py kv ls` shows" in ours


def test_a_value_of_standard_input_comes_back_byte_by_byte(shell: Shell) -> None:
    shell.ok("kv", "add", "bytes")
    shell.ok("kv", "put", "bytes", "k", stdin=b"\xff\x00\n")
    found = json.loads(shell.ok("kv", "get", "bytes", "k", "--json"))
    assert found["value_base64"] == "/wAK"
    assert shell("kv", "get", "bytes", "k", "--raw").out == "�\x00\n"
    # A terminal never gets the bytes of others.
    assert "\\xff\\x00" in shell.typed("kv", "get", "bytes", "k").out


def test_options_of_a_bucket_reach_the_stream(shell: Shell) -> None:
    options = "--ttl 1h30m --max-value-size 1KiB --max-bucket-size 1M --storage memory --compress"
    more = "--marker-ttl 1m --metadata who=me --republish-destination copy.>"
    shell.ok("kv", "add", "options", *options.split(), *more.split())
    config = json.loads(shell.ok("kv", "info", "options", "--json"))["config"]
    wanted = {
        "max_age": 5400 * 10**9,
        "max_msg_size": 1024,
        "max_bytes": 1048576,
        "storage": "memory",
        "compression": "s2",
        "allow_msg_ttl": True,
        "subject_delete_marker_ttl": 60 * 10**9,
    }
    assert {name: config[name] for name in wanted} == wanted
    assert config["metadata"]["who"] == "me"
    assert config["republish"]["dest"] == "copy.>"
    shell.ok("kv", "put", "options", "brief", "x", "--ttl", "1h")
    shell.ok("kv", "add", "copy", "--mirror", "options", "--storage", "memory")
    assert json.loads(shell.ok("kv", "info", "copy", "--json"))["config"]["mirror"]


def test_questions_on_a_terminal(shell: Shell) -> None:
    shell.typed("kv", "add", answers=[("Bucket: ", "asked")])
    done = shell.typed(
        "kv",
        "put",
        "asked",
        answers=[("Key: ", "colour"), ("Value", "blue")],
    )
    assert done.status == 0, done
    assert "revision 1" in done.out
    kept = shell.typed("kv", "rm", "asked", answers=[("with all its values? [y/N]: ", "n")])
    assert (kept.status, "nothing was done" in kept.out) == (1, True)
    shown = shell.typed("kv", "history", "asked", "colour")
    assert "│ Key    │ Revision │ Op  │ Created             │ Length │ Value │" in shown.out
    shell.typed("kv", "rm", "asked", answers=[("[y/N]: ", "y")])
    assert "asked" not in shell.ok("kv", "ls", "-n")


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("get", 2, "Bucket is missing: give BUCKET"),
        ("get errors", 2, "Key is missing: give KEY"),
        ("get errors a..b", 1, "not a key: 'a..b'"),
        ("get errors k --at soon", 2, "'soon' is neither a time"),
        ("get errors k --at 1h --revision 1", 2, "exclude each other"),
        ("get errors never", 1, "no value: never"),
        ("history errors never", 1, "no value: never"),
        ("add no.bucket", 1, "not a bucket's name"),
        ("add errors --history 65", 1, "history is 1 to 64"),
        ("add errors --history 3", 1, "errors is there with other options"),
        ("add errors --metadata x", 2, "'x' is no name=value"),
        ("put errors k v --ttl 1x", 2, "'1x' is no duration"),
        ("put errors k v --ttl 1m", 1, "(10166)"),
        ("watch errors --history --updates", 2, "exclude each other"),
        ("update errors k v x", 2, "not a valid integer"),
    ],
)
def test_errors_say_what_is_wrong(shells: Shells, line: str, status: int, words: str) -> None:
    shell = shells[OURS]
    shell.ok("kv", "add", "errors")
    done = shell("kv", *line.split())
    assert (done.status, done.out) == (status, "")
    assert words.lower() in steady(done.err).lower()


def test_a_value_of_the_past(shell: Shell) -> None:
    shell.ok("kv", "add", "past", "--history", "3")
    shell.ok("kv", "put", "past", "k", "old")
    created = json.loads(shell.ok("kv", "get", "past", "k", "--json"))["created"]
    shell.ok("kv", "put", "past", "k", "new")
    assert shell.ok("kv", "get", "past", "k", "--at", created, "--raw") == "old"
    assert "no value" in shell("kv", "get", "past", "k", "--at", "1h").err
