"""`jetstream-py nkey`: keys that users, accounts and servers prove themselves with."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Final

import click

from jetstream_py import nkey
from jetstream_py.cli import show
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Group, Settings

KINDS: Final = {
    "user": nkey.USER,
    "account": nkey.ACCOUNT,
    "operator": nkey.OPERATOR,
    "server": nkey.SERVER,
    "cluster": nkey.CLUSTER,
    "curve": nkey.CURVE,
}


@click.group("nkey", cls=Group)
def command() -> None:
    """Keys (Ed25519) of users, accounts and servers."""


@command.command(
    "gen",
    examples="""jetstream-py nkey gen user
    jetstream-py nkey gen user --output alice.nk""",
)
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.option("--output", metavar="FILE", help="Keep the seed in a file that only you can read")
@click.pass_obj
def gen(settings: Settings, kind: str, output: str | None) -> None:
    """Make a key. Its seed is a secret; servers know the public key."""
    seed = nkey.encode_seed(KINDS[kind], secrets.token_bytes(32))
    public = public_of(seed)
    if output is None:
        if settings.json:
            show.data({"seed": seed, "public": public})
        else:
            show.line(f"{seed}\n{public}")
        return
    _keep(output, seed)
    if settings.json:
        show.data({"file": output, "public": public})
    else:
        show.line(public)


@command.command(
    "show",
    examples="""jetstream-py nkey show alice.nk
    jetstream-py nkey show - < alice.nk""",
)
@click.argument("file")
@click.pass_obj
def public_key(settings: Settings, file: str) -> None:
    """Show the public key of a seed that is in FILE; - is standard input."""
    public = public_of(_seed_in(_read(file)))
    if settings.json:
        show.data({"public": public})
    else:
        show.line(public)


def public_of(seed: str) -> str:
    """Raises `Failure`."""
    from jetstream_py.jwt.xkey import XKey

    try:
        if nkey.decode_seed(seed)[0] == nkey.CURVE:
            return XKey(seed).public
        return nkey.KeyPair(seed).public
    except ValueError as error:
        raise Failure(f"not a seed: {error}") from None
    except RuntimeError as error:  # PyNaCl is missing
        raise Failure(str(error)) from None


def _read(file: str) -> str:
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="ascii", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise Failure(f"{file} cannot be read: {error.strerror}") from None


def _seed_in(text: str) -> str:
    """The line that looks like a seed: files of credentials have others, too."""
    lines = [line.strip() for line in text.splitlines()]
    found = next((line for line in lines if line.startswith("S") and len(line) == 58), None)
    if found is None:
        raise Failure("there is no seed in it", "`jetstream-py nkey gen user` makes one")
    return found


def _keep(file: str, seed: str) -> None:
    """Never over another key, never readable for others."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Failure(f"{file} is there already", "give another --output") from None
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror}") from None
    with open(descriptor, "w") as opened:
        opened.write(seed + "\n")
