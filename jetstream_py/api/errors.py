"""Errors of the JetStream API: `{"code":400,"err_code":10060,"description":"..."}`."""

from __future__ import annotations

from typing import Final

from jetstream_py.api.error_table import E
from jetstream_py.api.types import ErrorBody

__all__ = ["ApiError", "E", "error", "invalid_config"]

_BY_CODE: Final = {each.value[0]: each for each in E}


class ApiError(Exception):
    """A request that the API refuses."""

    def __init__(self, code: int, err_code: int, description: str, cause: str = "") -> None:
        """`cause` is what reports of traced messages say instead of the description."""
        super().__init__(description)
        self.code = code
        self.err_code = err_code
        self.description = description
        self.cause = cause

    @property
    def body(self) -> ErrorBody:
        return ErrorBody(code=self.code, err_code=self.err_code, description=self.description)

    def __repr__(self) -> str:
        return f"ApiError({self.code}, {self.err_code}, {self.description!r})"


def error(which: E | int | str, **values: object) -> ApiError:
    """The error by its member, err_code or name; `values` fill the blanks of its text. Its cause is the
    `cause` among them, or else the `err`."""
    if isinstance(which, int):
        which = _BY_CODE[which]
    elif isinstance(which, str):
        which = E[which]
    err_code, code, text = which.value
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return ApiError(code, err_code, text, str(values.get("cause", values.get("err", ""))))


def invalid_config(text: str) -> ApiError:
    """What most faults of a stream's configuration come back as."""
    return error(E.STREAM_INVALID_CONFIG, err=text)
