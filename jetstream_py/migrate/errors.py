"""What can go wrong, in words for whoever runs a migration."""

from __future__ import annotations


class MigrateError(Exception):
    """A stream, or everything, cannot be migrated; the text says why."""


class ConnectError(MigrateError):
    """There is no server, it lets us not in, or it has no JetStream."""


class DeniedError(MigrateError):
    """The user may not publish or subscribe to a subject that is needed."""


class UnavailableError(MigrateError):
    """This way to migrate is closed for a stream; another one may be open."""


class ApiError(MigrateError):
    """The error of a JetStream answer."""

    def __init__(self, where: str, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{where}: {description} ({err_code or code})")
        self.code = code
        self.err_code = err_code
        self.description = description
