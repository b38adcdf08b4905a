"""Options in the making: the file writes into a draft, then the flags, then it is settled.

Login data stays in its parts until both have spoken, because a flag may replace one part only:
`--user` together with a password from the file is a valid pair.
"""

from __future__ import annotations

import msgspec

from jetstream_py.config.account_options import User
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.options import Authorization, Options
from jetstream_py.config.parser import Position
from jetstream_py.config.secret import Secret


class Problem(msgspec.Struct, frozen=True, order=True):
    """One mistake in a file."""

    at: Position
    text: str

    def __str__(self) -> str:
        return f"{self.at}: {self.text}"


class Refusal(Exception):
    """A value is wrong. Raised where it is read, filed as a Problem where its position is known."""

    def __init__(self, text: str, at: Position | None = None) -> None:
        super().__init__(text)
        self.at = at


class Login(msgspec.Struct):
    """Who may connect, as written."""

    user: str = ""
    password: str = ""
    token: str = ""
    users: list[User] = []
    timeout: float = 0.0  # 0: the default

    def authorization(self) -> Authorization:
        """Which parts count when several are given: users, then the token, then the single user.

        A token beside `users` works too; a single user beside either of them does not.
        """
        users = tuple(self.users)
        if not users and not self.token and self.user:
            users = (User(self.user, Secret(self.password)),)
        timeout = self.timeout or Authorization().timeout
        return Authorization(users=users, token=Secret(self.token), timeout=timeout)


class Draft(msgspec.Struct):
    """What is known so far."""

    options: Options = msgspec.field(default_factory=Options)
    login: Login = msgspec.field(default_factory=Login)
    errors: list[Problem] = []
    # Accepted by a server that starts, refused by `-t`: what nats-server wants to see changed.
    outdated: list[Problem] = []
    warnings: list[str] = []

    def refuse_errors(self, strict: bool) -> None:
        """Raise when the file is not good enough. All mistakes are named, in their order."""
        problems = sorted(self.errors + (self.outdated if strict else []))
        if self.errors or (strict and self.outdated):
            raise ConfigError("\n".join(map(str, problems)))
        self.warnings.extend(map(str, sorted(self.outdated)))
