"""What can go wrong, each with a text for people."""

from __future__ import annotations


class JetStreamError(Exception):
    """Anything that this data source raises."""


class OptionError(JetStreamError, ValueError):
    """An option that cannot be used; the text names the right one."""


class ConnectError(JetStreamError, ConnectionError):
    """No server could be reached, or none lets us in; or a connection is lost."""


class ApiError(JetStreamError):
    """JetStream has refused a request."""

    def __init__(self, request: str, code: int, err_code: int, description: str) -> None:
        super().__init__(request, code, err_code, description)
        self.request = request
        self.code = code
        self.err_code = err_code
        self.description = description

    def __str__(self) -> str:
        return f"{self.request}: {self.description} ({self.err_code or self.code})"


class DataLossError(JetStreamError):
    """Messages that were to be read are gone, or the stream is another one."""
