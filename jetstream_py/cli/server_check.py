"""`jetstream-py server check`: one line and an exit status for monitoring systems.

Plugins of Nagios and its kin say OK, WARNING, CRITICAL or UNKNOWN with 0, 1, 2 or 3, and add figures
behind a bar. So the usual exit statuses do not count here.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, Final

import click

from jetstream_py.cli import show, units
from jetstream_py.cli.connect import Session, run
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import DURATION, Group, Settings

STATUSES: Final = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
OK, WARNING, CRITICAL = 0, 1, 2


@click.group("check", cls=Group)
def command() -> None:
    """Checks for monitoring: exit status 0 OK, 1 warning, 2 critical."""


@dataclass
class Result:
    """What a check found."""

    name: str
    level: int = OK
    texts: list[tuple[int, str]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def say(self, level: int, text: str) -> None:
        self.level = max(self.level, level)
        self.texts.append((level, text))

    def judge(
        self, name: str, value: float, warning: float | None, critical: float | None, unit: str = ""
    ) -> None:
        """Too much is bad; where critical is below warning, too little."""
        few = warning is not None and critical is not None and critical < warning
        level = OK
        for at, bound in ((WARNING, warning), (CRITICAL, critical)):
            if bound is not None and (value <= bound if few else value >= bound):
                level = at
        self.say(level, f"{name} {value:g}{unit}")
        figure = {"name": name, "value": value, "unit": unit}
        self.figures.append(figure | {"warning": warning, "critical": critical})

    def line(self) -> str:
        words = {OK: "OK", WARNING: "Warn", CRITICAL: "Crit"}
        ordered = sorted(self.texts, key=lambda pair: -pair[0])
        texts = " ".join(f"{words[level]}:{text}" for level, text in ordered)
        figures = " ".join(map(_figure, self.figures))
        return f"{STATUSES[self.level]} {self.name} {texts}" + (f" | {figures}" if figures else "")


def _figure(found: dict[str, Any]) -> str:
    bounds = [
        f"{found[name]:g}" if found[name] is not None else "" for name in ("warning", "critical")
    ]
    return f"{found['name'].replace(' ', '_')}={found['value']:g}{found['unit']};{bounds[0]};{bounds[1]}"


Check = Callable[..., Awaitable[None]]


def checking(name: str) -> Callable[[Check], Callable[..., None]]:
    """Make an `async def check(session, result, ...)` a click callback; any failure is critical."""

    def decorate(function: Check) -> Callable[..., None]:
        @wraps(function)
        def callback(**options: Any) -> None:
            result = Result(str(options.get("stream") or name))
            try:
                run(lambda session: function(session, result, **options))
            except Failure as error:
                result.say(CRITICAL, error.message)
            context = click.get_current_context()
            settings = context.find_object(Settings) or Settings()
            if settings.json:
                texts = [{"status": STATUSES[level], "text": text} for level, text in result.texts]
                figures = {"figures": result.figures}
                show.data(
                    {"status": STATUSES[result.level], "check": result.name, "texts": texts}
                    | figures
                )
            else:
                show.line(result.line())
            context.exit(result.level)

        return callback

    return decorate


def bounds(
    flag: str, kind: Any, text: str, warn: str | None = None, critical: str | None = None
) -> Callable[[Any], Any]:
    """--FLAG-warn and --FLAG-critical."""

    def decorate(function: Any) -> Any:
        for word, default in (("critical", critical), ("warn", warn)):
            means = f"{word.title()}: {text}"
            function = click.option(f"--{flag}-{word}", type=kind, default=default, help=means)(
                function
            )
        return function

    return decorate


@command.command("connection", aliases=("conn",), examples="jetstream-py server check connection")
@bounds("rtt", DURATION, "round trip to the server", "500ms", "1s")
@bounds("req", DURATION, "a request through the server", "500ms", "1s")
@checking("Connection")
async def connection(session: Session, result: Result, **given: int) -> None:
    """Check that there is a server, and how fast it answers."""
    result.say(OK, f"connected to {session.where}")
    begin = time.monotonic()
    await session.flush(timeout=10)
    took = time.monotonic() - begin
    result.judge("rtt", took, given["rtt_warn"] / 1e9, given["rtt_critical"] / 1e9, "s")
    inbox = session.new_inbox()

    async def answer(msg: Any) -> None:
        await msg.respond(b"")

    await session.subscribe(inbox, cb=answer)
    begin = time.monotonic()
    await session.ask(inbox, b"x")
    took = time.monotonic() - begin
    result.judge("request time", took, given["req_warn"] / 1e9, given["req_critical"] / 1e9, "s")


@command.command(
    "jetstream", aliases=("js",), examples="jetstream-py server check jetstream --store-warn 50"
)
@bounds("mem", int, "memory used, percent of the limit", "75", "90")
@bounds("store", int, "storage used, percent of the limit", "75", "90")
@bounds("streams", int, "streams, percent of the limit")
@bounds("consumers", int, "consumers, percent of the limit")
@checking("JetStream")
async def jetstream(session: Session, result: Result, **given: int | None) -> None:
    """Check how much of its limits the account uses."""
    info = await session.api("INFO")
    for flag, used, most in (
        ("mem", "memory", "max_memory"),
        ("store", "storage", "max_storage"),
        ("streams", "streams", "max_streams"),
        ("consumers", "consumers", "max_consumers"),
    ):
        limit = info["limits"][most]
        percent = info[used] * 100 / limit if limit > 0 else 0
        result.judge(used, percent, given[f"{flag}_warn"], given[f"{flag}_critical"], "%")


@command.command(
    "stream",
    examples="jetstream-py server check stream --stream ORDERS --msgs-warn 10 --msgs-critical 1",
)
@click.option("--stream", required=True, help="Stream to check")
@bounds("msgs", int, "no more messages than this")
@bounds("subjects", int, "subjects")
@click.option("--lag-critical", type=int, help="Critical: lag of a mirror or source")
@click.option("--seen-critical", type=DURATION, help="Critical: silence of a mirror or source")
@click.option("--min-sources", type=int, help="Critical: fewer sources")
@checking("Stream")
async def stream(session: Session, result: Result, stream: str, **given: int | None) -> None:
    """Check a stream, its mirror and sources."""
    info = await session.api(f"STREAM.INFO.{stream}")
    few, none = given["msgs_warn"], given["msgs_critical"]
    messages = info["state"]["messages"]
    if few is not None or none is not None:
        level = WARNING if few is not None and messages <= few else OK
        level = CRITICAL if none is not None and messages <= none else level
        result.say(level, f"{messages:,} messages")
    subjects = info["state"].get("num_subjects", 0)
    result.judge("subjects", subjects, given["subjects_warn"], given["subjects_critical"])
    origins = [info["mirror"]] if info.get("mirror") else info.get("sources") or []
    if given["min_sources"] is not None and len(origins) < given["min_sources"]:
        result.say(CRITICAL, f"{len(origins)} sources")
    for origin in origins:
        result.judge(f"lag of {origin['name']}", origin.get("lag", 0), None, given["lag_critical"])
        silence = given["seen_critical"]
        if silence is not None and not 0 <= origin.get("active", -1) <= silence:
            result.say(CRITICAL, f"{origin['name']} was not seen")


@command.command(
    "consumer",
    examples="jetstream-py server check consumer --stream ORDERS --consumer W --unprocessed-critical 1000",
)
@click.option("--stream", required=True, help="Its stream")
@click.option("--consumer", required=True, help="Consumer to check")
@click.option("--outstanding-ack-critical", type=int, help="Critical: deliveries without an ack")
@click.option("--waiting-critical", type=int, help="Critical: pull requests that wait")
@click.option("--unprocessed-critical", type=int, help="Critical: messages to come")
@click.option("--redelivery-critical", type=int, help="Critical: redeliveries")
@click.option("--last-delivery-critical", type=DURATION, help="Critical: no delivery for so long")
@click.option("--last-ack-critical", type=DURATION, help="Critical: no ack for so long")
@checking("Consumer")
async def consumer(
    session: Session, result: Result, stream: str, consumer: str, **given: int | None
) -> None:
    """Check whether a consumer keeps up."""
    info = await session.api(f"CONSUMER.INFO.{stream}.{consumer}")
    result.name = f"{stream}_{consumer}"
    for name, value, flag in (
        ("ack pending", "num_ack_pending", "outstanding_ack"),
        ("waiting pulls", "num_waiting", "waiting"),
        ("unprocessed", "num_pending", "unprocessed"),
        ("redelivered", "num_redelivered", "redelivery"),
    ):
        result.judge(name, info[value], None, given[f"{flag}_critical"])
    for name, pair, flag in (
        ("delivery", "delivered", "last_delivery_critical"),
        ("ack", "ack_floor", "last_ack_critical"),
    ):
        longest = given[flag]
        if longest is not None:
            passed = _passed(info[pair].get("last_active", ""))
            late = passed is None or passed > longest
            text = "never" if passed is None else f"{units.duration(passed)} ago"
            result.say(CRITICAL if late else OK, f"last {name} {text}")


def _passed(stamp: str) -> int | None:
    when = units.parse_stamp(stamp)
    return None if when is None else (datetime.now(UTC) - when) // timedelta(microseconds=1) * 1000


@command.command(
    "message",
    examples="jetstream-py server check message --stream ORDERS --subject orders.new --age-critical 1h",
)
@click.option("--stream", required=True, help="Its stream")
@click.option("--subject", default=">", help="The newest message of this subject")
@bounds("age", DURATION, "age of the message")
@click.option("--content", default=".", help="Regular expression that the body must match")
@checking("Stream Message")
async def message(
    session: Session, result: Result, stream: str, subject: str, content: str, **given: int | None
) -> None:
    """Check the age and content of the newest message."""
    try:
        expected = re.compile(content.encode())
    except re.error as error:
        raise click.BadParameter(f"{content!r}: {error}", param_hint="--content") from None
    found = (await session.api(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject}))["message"]
    seconds = [
        None if (age := given[name]) is None else age / 1e9 for name in ("age_warn", "age_critical")
    ]
    result.judge("age", (_passed(found["time"]) or 0) / 1e9, seconds[0], seconds[1], "s")
    fits = expected.search(base64.b64decode(found.get("data", "")))
    result.say(OK if fits else CRITICAL, "content matches" if fits else "content does not match")
