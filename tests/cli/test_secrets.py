"""Passwords and keys: made, checked, shown."""

from __future__ import annotations

import json
import os
import pty
import stat
import sys
from pathlib import Path

import bcrypt
import pytest

from jetstream_py import nkey
from tests.cli.shell import Shell

PASSWORD = "correct horse"


def test_a_password_of_standard_input_becomes_a_hash() -> None:
    made = Shell().ok("passwd", "-c", "4", stdin=f"{PASSWORD}\nmore\n".encode()).strip()
    assert made.startswith("$2a$04$")
    assert bcrypt.checkpw(PASSWORD.encode(), made.encode())


def test_a_generated_password_is_the_one_of_its_hash() -> None:
    made = json.loads(Shell().ok("passwd", "-g", "-c", "4", "--json"))
    assert len(made["password"]) == 22
    assert bcrypt.checkpw(made["password"].encode(), made["hash"].encode())
    shown = Shell().ok("passwd", "--generate", "-c", "4")
    assert shown.startswith("Generated password: ")
    assert made["password"] not in shown


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("ninechars", "at least 10 characters"),
        ("", "at least 10 characters"),
        ("é" * 37, "at most 72 bytes"),
    ],
)
def test_passwords_that_are_none(password: str, words: str) -> None:
    done = Shell()("passwd", "-p", password)
    assert (done.status, done.out) == (1, "")
    assert words in done.err


def test_a_terminal_does_not_show_what_is_typed() -> None:
    """In a process of its own: the password is read from the controlling terminal."""
    pid, master = pty.fork()
    if pid == 0:
        script = "from jetstream_py.cli import main; main()"
        os.execv(sys.executable, [sys.executable, "-c", script, "passwd", "-c", "4"])
    screen = b""
    for question in (b"Enter password: ", b"Reenter password: "):
        while question not in screen:
            screen += os.read(master, 4096)
        os.write(master, PASSWORD.encode() + b"\n")
    while True:
        try:
            screen += os.read(master, 4096)
        except OSError:
            break
    assert os.waitpid(pid, 0)[1] == 0
    os.close(master)
    assert PASSWORD.encode() not in screen
    assert bcrypt.checkpw(PASSWORD.encode(), screen.split()[-1])


@pytest.mark.parametrize(
    ("kind", "letters"),
    [("user", "SUU"), ("account", "SAA"), ("operator", "SOO"), ("server", "SNN"), ("curve", "SXX")],
)
def test_a_key_has_a_seed_and_a_public_name(kind: str, letters: str) -> None:
    seed, public = Shell().ok("nkey", "gen", kind).split()
    assert seed[:2] + public[0] == letters
    assert nkey.is_public(public)
    assert Shell().ok("nkey", "show", "-", stdin=seed.encode()).strip() == public


def test_a_seed_in_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "alice.nk"
    public = Shell().ok("nkey", "gen", "user", "--output", str(file)).strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert nkey.KeyPair(file.read_text().strip()).public == public
    assert json.loads(Shell().ok("nkey", "show", str(file), "--json")) == {"public": public}
    again = Shell()("nkey", "gen", "user", "--output", str(file))
    assert (again.status, "is there already" in again.err) == (1, True)
    assert nkey.KeyPair(file.read_text().strip()).public == public


@pytest.mark.parametrize("text", ["", "no seed", "SU" + "A" * 56, "UA" + "A" * 54])
def test_what_is_no_seed(text: str) -> None:
    done = Shell()("nkey", "show", "-", stdin=text.encode())
    assert (done.status, done.out) == (1, "")
    assert "seed" in done.err
