"""What went wrong, in words for whoever typed the command, and what to do next."""

from __future__ import annotations

from typing import Final

import click

# JetStream's err_code, or the code of an answer without one -> what to do
HINTS: Final = {
    503: "JetStream is off there or for this account: start the server with -js, or see "
    "`jetstream-py account info`",
    10014: "`jetstream-py consumer ls STREAM` shows the consumers there are",
    10023: "`jetstream-py account info` shows the limits",
    10013: "`jetstream-py consumer edit` changes a consumer that is there",
    10037: "`jetstream-py stream info` shows the first and the last sequence",
    10039: "this account has no JetStream; connect as another user",
    10047: "`jetstream-py account info` shows how much is left",
    10058: "`jetstream-py stream edit` changes a stream that is there",
    10059: "`jetstream-py stream ls` shows the streams there are",
    10065: "`jetstream-py stream ls --subject SUBJECT` shows who has the subject",
    10076: "JetStream is off there: start the server with -js",
    10148: "`jetstream-py consumer edit` changes a consumer that is there",
}


class Failure(click.ClickException):
    """The command was understood and could not be done: status 1."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class MissingAnswer(click.UsageError):
    """Nobody is there to be asked, so the flag has to be given: status 2."""


def api_failure(code: int, err_code: int, description: str) -> Failure:
    """The error of a JetStream answer."""
    number = err_code or code
    return Failure(f"{description} ({number})", HINTS.get(number, ""))
