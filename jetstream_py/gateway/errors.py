"""What goes wrong, as HTTP says it: a status, and JSON with `code`, `err_code` and `description`.

`err_code` is JetStream's, where the reason is one of its refusals, and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jetstream_py import js, kv, objstore

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
NOT_ALLOWED: Final = 405
TIMEOUT: Final = 408
PRECONDITION: Final = 412
TOO_LARGE: Final = 413
RANGE: Final = 416
BUSY: Final = 503
NO_MESSAGE: Final = 10037

_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="jetstream-py", charset="UTF-8"'}
_EXPECTATIONS: Final = (10070, 10071, 10164)  # of a publish, that did not hold

# The first that fits counts.
_STATUSES: Final[tuple[tuple[type[js.JetStreamError], int], ...]] = (
    (js.PermissionDenied, FORBIDDEN),
    (js.PayloadTooLarge, TOO_LARGE),
    (js.InvalidName, BAD_REQUEST),
    (js.WrongLastSequence, PRECONDITION),
    (js.NoResponders, BUSY),
    (js.Disconnected, BUSY),
    (js.RequestTimeout, 504),
    (kv.KeyNotFound, NOT_FOUND),
    (kv.BucketNotFound, NOT_FOUND),
    (kv.KeyExists, PRECONDITION),
    (kv.WrongRevision, PRECONDITION),
    (kv.BucketExists, 409),
    (kv.TooManyConflicts, 409),
    (kv.BeforeHorizon, 410),
    (objstore.ObjectNotFound, NOT_FOUND),
    (objstore.StoreNotFound, NOT_FOUND),
    (objstore.LinkError, NOT_FOUND),
    (objstore.StoreExists, 409),
    (objstore.StoreSealed, 409),
)


class HttpError(Exception):
    """An answer instead of what was asked for."""

    def __init__(
        self,
        status: int,
        description: str,
        err_code: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(description)
        self.status = status
        self.err_code = err_code
        self.description = description
        self.headers = dict(headers or (_CHALLENGE if status == UNAUTHORIZED else {}))

    def body(self) -> dict[str, object]:
        return {"code": self.status, "err_code": self.err_code, "description": self.description}


def translated(error: js.JetStreamError) -> HttpError:
    """What a view raised. Views wrap what they were told: the reason may lie further down."""
    reason: BaseException | None = error
    found: HttpError | None = None
    while reason is not None:
        found = found or _known(reason, str(error))
        if isinstance(reason, js.ApiError):
            return _api(reason, found)
        reason = reason.__cause__
    found = found or HttpError(500, str(error))
    if isinstance(error, kv.KeyNotFound | objstore.ObjectNotFound):
        found.err_code = NO_MESSAGE
    return found


def _known(error: BaseException, text: str) -> HttpError | None:
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), None)
    return None if status is None else HttpError(status, text)


def _api(error: js.ApiError, found: HttpError | None) -> HttpError:
    status = error.code if BAD_REQUEST <= error.code < 600 else 500
    if error.err_code in _EXPECTATIONS:
        status = PRECONDITION
    return HttpError(found.status if found else status, error.description, error.err_code)
