"""`jetstream-py reply`: a small service."""

from __future__ import annotations

import asyncio
import os
import random
import shlex
from dataclasses import dataclass

import click
from nats.aio.msg import Msg

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, connected
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Command
from jetstream_py.cli.message import (
    PENDING,
    check_subject,
    header_block,
    header_pairs,
    print_body,
    print_headers,
)
from jetstream_py.cli.templates import expand


@click.command(
    "reply",
    cls=Command,
    examples="""jetstream-py reply greet 'hello, request {{Count}}'
    jetstream-py reply echo --echo
    jetstream-py reply 'weather.>' --command 'curl -s wttr.in/{{1}}?format=3'""",
)
@click.argument("subject")
@click.argument("body", required=False)
@click.option("--echo", is_flag=True, help="Send back what came")
@click.option("--command", "program", help="Run a command, answer with its output")
@click.option("-q", "--queue", default="NATS-RPLY-22", help="Queue group", show_default=True)
@click.option("--sleep", type=DURATION, default=0, help="Wait before answers, up to this long")
@click.option("-H", "--header", multiple=True, metavar="K:V", help="Header; may be repeated")
@click.option("--count", type=click.IntRange(0), default=0, help="End after so many requests")
@connected
async def command(
    session: Session,
    subject: str,
    body: str | None,
    echo: bool,
    program: str | None,
    queue: str,
    sleep: int,
    header: tuple[str, ...],
    count: int,
) -> None:
    """Answer requests on SUBJECT.

    The answer is BODY, the request (--echo) or the output of a command. The templates of `pub` work in BODY
    and headers, and {{Request}} is the request's body. In a command {{0}}, {{1}} … are the tokens of the
    request's subject; it finds NATS_REQUEST_SUBJECT and NATS_REQUEST_BODY in its environment. No shell
    reads it, so a request cannot add commands.
    """
    if (body is not None) + echo + (program is not None) != 1:
        raise click.UsageError("say how to answer: BODY, --echo or --command")
    check_subject(subject, wildcards=True)
    answers = Answers(body, echo, shlex.split(program) if program else [], header)
    arrived: asyncio.Queue[Msg] = asyncio.Queue(PENDING)
    await session.subscribe(subject, queue=queue, cb=arrived.put)
    await session.flush(timeout=10)
    show.note(f"Listening on {subject} in group {queue}")
    number = 0
    while not count or number < count:
        msg = await arrived.get()
        number += 1
        show.line(f"[#{number}] Received on {show.safe(msg.subject)}")
        print_headers(header_pairs(msg))
        print_body(msg.data)
        if sleep:
            await asyncio.sleep(random.uniform(0, sleep / units.SECOND))
        if msg.reply:
            await session.publish_raw(msg.reply, "", *await answers.answer(msg, number))
    await session.flush(timeout=10)


@dataclass(frozen=True)
class Answers:
    """From a request to header block and body."""

    body: str | None
    echo: bool
    program: list[str]
    headers: tuple[str, ...]

    async def answer(self, msg: Msg, number: int) -> tuple[bytes, bytes]:
        more = {"Request": msg.data.decode("utf-8", "surrogateescape")}
        block = header_block([expand(text, number, more) for text in self.headers])
        if self.echo:
            return block, msg.data
        if self.program:
            return block, await self._output(msg, more)
        text = expand(self.body or "", number, more)
        return block, text.encode("utf-8", "surrogateescape")

    async def _output(self, msg: Msg, more: dict[str, str]) -> bytes:
        tokens = {str(at): token for at, token in enumerate(msg.subject.split("."))}
        words = [expand(word, 0, {**more, **tokens}) for word in self.program]
        known = {"NATS_REQUEST_SUBJECT": msg.subject, "NATS_REQUEST_BODY": more["Request"]}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdout=pipe, stderr=pipe, env={**os.environ, **known}
            )
        except (OSError, ValueError) as error:
            raise Failure(f"cannot run {words[0]!r}: {error}") from None
        output, errors = await process.communicate()
        if process.returncode:
            show.note(
                f"{words[0]} ended with {process.returncode}: {errors.decode(errors='replace')}"
            )
        return output
