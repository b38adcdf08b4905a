"""Options in the making: the file writes into a draft, then the flags, then it is settled.

Login data stays in its parts until both have spoken, because a flag may replace one part only:
`--user` together with a password from the file is a valid pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from jetstream_py.config.account_options import (
    AccountOptions,
    AuthCallout,
    Operator,
    User,
)
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.scanner import Position
from jetstream_py.config.secret import Secret


class Problem(msgspec.Struct, frozen=True):
    """One mistake in a file. For some of them nats-server does not say where they are."""

    at: Position | None
    text: str

    def __str__(self) -> str:
        return f"{self.at}: {self.text}" if self.at else self.text

    @property
    def order(self) -> tuple[str, int, int, str]:
        at = self.at
        return (at.file, at.line, at.column, self.text) if at else ("", 0, 0, self.text)


class Refusal(Exception):
    """A value is wrong. Raised where it is read, filed as a Problem where its position is known."""

    def __init__(self, text: str, at: Position | None = None) -> None:
        super().__init__(text)
        self.at = at


class Unplaced(Refusal):
    """A value is wrong, and the message has no position because that of nats-server has none."""


class Login(msgspec.Struct):
    """The single user or the token, as written, and what counts for all who log in."""

    user: str = ""
    password: str = ""
    token: str = ""
    timeout: float = 0.0  # 0: the default
    callout: AuthCallout | None = None


class Draft(msgspec.Struct):
    """What is known so far."""

    options: Options = msgspec.field(default_factory=Options)
    login: Login = msgspec.field(default_factory=Login)
    users: list[User] = []  # of all accounts
    accounts: dict[str, AccountOptions] = {}
    operator: Operator = Operator()
    system_account: str = ""  # as the file names it
    tls_flags: dict[str, bool | str] = {}
    errors: list[Problem] = []
    # Accepted by a server that starts, refused by `-t`: what nats-server wants to see changed.
    outdated: list[Problem] = []
    warnings: list[str] = []

    @contextmanager
    def attempt(self, at: Position) -> Iterator[None]:
        """What is refused inside becomes a mistake of the file, at this position if it has no own."""
        try:
            yield
        except Refusal as refusal:
            place = None if isinstance(refusal, Unplaced) else refusal.at or at
            self.errors.append(Problem(place, str(refusal)))

    def refuse_errors(self, strict: bool) -> None:
        """Raise when the file is not good enough. All mistakes are named, in their order."""
        problems = self.errors + (self.outdated if strict else [])
        if self.errors or (strict and self.outdated):
            raise ConfigError("\n".join(_lines(problems)))
        self.warnings.extend(_lines(self.outdated))

    def authorization(self) -> Authorization:
        """Which parts count when several are given: users, then the token, then the single user.

        A token beside `users` works too; a single user beside either of them does not.
        """
        login = self.login
        users = tuple(self.users)
        single = not users and not login.token and bool(login.user)
        if single:
            users = (User(login.user, Secret(login.password)),)
        return Authorization(
            users=users,
            single=single,
            token=Secret(login.token),
            timeout=login.timeout or Authorization().timeout,
            callout=login.callout,
            operator=self.operator if self.operator.jwts or self.operator.trusted_keys else None,
        )


def _lines(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in sorted(problems, key=lambda problem: problem.order)]
