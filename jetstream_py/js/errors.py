"""What can go wrong between an application and its streams. Everything derives from `JetStreamError`."""

from __future__ import annotations


class JetStreamError(Exception):
    """The root: catch it to catch all of `js`, `kv` and `objstore`."""


class NoResponders(JetStreamError):
    """Nobody listens there: no JetStream, no stream, or one that does not answer direct reads."""


class RequestTimeout(JetStreamError, TimeoutError):
    """No answer in time. What was asked for may have been done all the same."""


class Disconnected(JetStreamError):
    """The connection, or the server in this process, is closed."""


class PermissionDenied(JetStreamError):
    """The user may not publish, or not subscribe, there."""


class PayloadTooLarge(JetStreamError, ValueError):
    """More bytes than the server takes in one message."""


class InvalidName(JetStreamError, ValueError):
    """A name, a key or a number that cannot be; nothing was sent."""


class ApiError(JetStreamError):
    """The server refused. `code` is like HTTP's, `err_code` says what exactly."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} ({err_code or code})")
        self.code = code
        self.err_code = err_code
        self.description = description


class StreamNotFound(ApiError):
    """There is no such stream."""


class StreamExists(ApiError):
    """There is a stream of that name with another configuration."""


class MessageNotFound(ApiError):
    """There is no such message (any more)."""


class WrongLastSequence(ApiError):
    """An expectation did not hold: somebody else has written."""


_KINDS: dict[int, type[ApiError]] = {
    10037: MessageNotFound,
    10058: StreamExists,
    10059: StreamNotFound,
    10071: WrongLastSequence,
    10164: WrongLastSequence,
}


def api_error(code: int, err_code: int, description: str) -> ApiError:
    """The error of the most exact class."""
    return _KINDS.get(err_code, ApiError)(code, err_code, description)
