"""`jetstream-py request`: ask, and show who answers."""

from __future__ import annotations

import json
import math
import time

import click
from nats.aio.msg import Msg

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.message import (
    NO_RESPONDERS,
    Requests,
    as_json,
    header_block,
    header_pairs,
    print_body,
    print_headers,
    status,
)
from jetstream_py.cli.pub import TEMPLATES, Body, body_options
from jetstream_py.cli.templates import expand


@click.command(
    "request",
    cls=Command,
    aliases=("req",),
    help=f"Send a request to SUBJECT and show the answer.\n\n{TEMPLATES}",
    examples="""jetstream-py request weather.london ''
    jetstream-py request services.list '' --replies 0 --timeout 2s
    jetstream-py request '$JS.API.STREAM.NAMES' '{}' --raw""",
)
@body_options
@click.option("-r", "--raw", is_flag=True, help="Only the body of answers")
@click.option(
    "--replies", type=click.IntRange(0), default=1, help="How many answers; 0: all in time"
)
@click.option(
    "--reply-timeout", type=DURATION, default="300ms", help="Longest time between two answers"
)
@connected
async def command(
    session: Session,
    subject: str,
    body: str | None,
    header: tuple[str, ...],
    count: int,
    send_on: str,
    templates: bool,
    raw: bool,
    replies: int,
    reply_timeout: int,
) -> None:
    requests = await Requests(session).open()
    wanted = replies or math.inf
    for number, payload in enumerate(
        Body(body, send_on == "newline", templates).payloads(count), 1
    ):
        heads = header_block([expand(text, number) if templates else text for text in header])
        asking = Asking(session, requests, raw)
        to = expand(subject, number) if templates else subject
        await asking.ask(to, heads, payload, wanted, reply_timeout / units.SECOND)


class Asking:
    """One request and its answers."""

    def __init__(self, session: Session, requests: Requests, raw: bool) -> None:
        self._session = session
        self._requests = requests
        self._raw = raw

    async def ask(
        self, subject: str, block: bytes, payload: bytes, wanted: float, gap: float
    ) -> None:
        begin = time.monotonic_ns()
        inbox = await self._requests.send(subject, block, payload)
        got = 0
        wait = self._session.timeout
        while got < wanted and (msg := await self._requests.answer(inbox, wait)) is not None:
            if status(msg) == NO_RESPONDERS and not msg.data:
                raise Failure(f"nobody answers on {subject}", "start a responder, or see --timeout")
            got += 1
            wait = gap if wanted != math.inf else self._session.timeout
            self._show(msg, got, time.monotonic_ns() - begin)
        self._requests.done(inbox)
        if not got:
            text = f"no answer on {subject} within {self._session.timeout:g} s"
            raise Failure(text, "--timeout waits longer")

    def _show(self, msg: Msg, number: int, took: int) -> None:
        if self._session.json:
            show.line(json.dumps(as_json(msg) | {"rtt": took}))
        elif self._raw:
            show.raw(msg.data)
        else:
            show.line(f"[#{number}] Received after {units.duration(took)}")
            print_headers(header_pairs(msg))
            print_body(msg.data)
