"""`jetstream-py passwd`: a password as a server's configuration holds it."""

from __future__ import annotations

import secrets
import string
import sys
from typing import Final

import click

from jetstream_py.cli import ask, show
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Command, Settings

SHORTEST: Final = 10  # characters, as the nats command has it
LONGEST: Final = 72  # bytes: bcrypt looks at no more
GENERATED: Final = 22
_LETTERS: Final = string.ascii_letters + string.digits + "!@#%^&*-_=+"


@click.command(
    "passwd",
    cls=Command,
    examples="""jetstream-py passwd
    jetstream-py passwd --generate
    pass show nats/alice | jetstream-py passwd""",
)
@click.option("-p", "--pass", "password", envvar="PASSWORD", show_envvar=True, metavar="SECRET")
@click.option("-c", "--cost", type=click.IntRange(4, 31), default=11, show_default=True)
@click.option("-g", "--generate", is_flag=True, help="Make a password, too")
@click.pass_obj
def command(settings: Settings, password: str | None, cost: int, generate: bool) -> None:
    """Make the bcrypt hash of a password: for `password` in a server's configuration.

    It is asked for on a terminal, read from standard input elsewhere, and has at least 10 characters."""
    if generate:
        password = "".join(secrets.choice(_LETTERS) for _ in range(GENERATED))
    elif password is None:
        password = _asked()
    made = hashed(password, cost)
    if settings.json:
        show.data({"password": password, "hash": made} if generate else {"hash": made})
    elif generate:
        show.line(f"Generated password: {password}\n       bcrypt hash: {made}")
    else:
        show.line(made)


def _asked() -> str:
    if not ask.possible():
        return sys.stdin.readline().rstrip("\r\n")
    password = ask.text("Enter password", "--pass", secret=True)
    check(password)
    if password != ask.text("Reenter password", "--pass", secret=True):
        raise Failure("the two passwords are not the same")
    return password


def check(password: str) -> None:
    """Raises `Failure`."""
    if len(password) < SHORTEST:
        raise Failure(
            f"a password has at least {SHORTEST} characters", "--generate makes a good one"
        )
    if len(password.encode()) > LONGEST:
        raise Failure(f"bcrypt takes at most {LONGEST} bytes of a password")


def hashed(password: str, cost: int) -> str:
    """Raises `Failure`."""
    check(password)
    try:
        import bcrypt
    except ImportError:
        raise Failure("bcrypt is not installed", "pip install 'jetstream-py[auth]'") from None
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost, b"2a")).decode()
