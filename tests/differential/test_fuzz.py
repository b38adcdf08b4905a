"""Random streams of almost correct protocol: both servers must answer alike.

Hypothesis makes the streams and cuts a failing one down to its essence. Its choices are fixed, so
that a run of the tests is repeatable; `--hypothesis-profile=search` looks for new ones.
"""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.differential.transcript import assert_alike
from tests.support.server import Server
from tests.support.wire import QUIET, REQUESTER, connect

settings.register_profile("search", derandomize=False, max_examples=5000, deadline=None)

WORDS = st.sampled_from(
    [b"a", b"a.b", b"a.*", b"a.>", b">", b"*", b"a..b", b".a", b"$SYS.x", b"_R_.x", b"\xff", b"q"]
)
NUMBERS = st.sampled_from(
    [b"0", b"1", b"2", b"02", b"3", b"12", b"-1", b"x", b"999999999", b"1" * 10]
)
BLANKS = st.sampled_from([b" ", b" ", b" ", b"\t", b"  ", b""])
ENDS = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\r\n"])
VERBS = st.sampled_from(
    [b"SUB", b"UNSUB", b"PUB", b"HPUB", b"PING", b"PONG", b"+OK", b"sub", b"Pub"]
)
PAYLOADS = st.sampled_from([b"\r\n", b"hi\r\n", b"h\r\n", b"NATS/1.0\r\n\r\n\r\n", b"hi\n"])
OPENINGS = st.sampled_from(
    [b"", QUIET, REQUESTER, b"CONNECT {}\r\n", connect(echo=False), connect(protocol=1)]
)


@st.composite
def odd_line(draw: st.DrawFn) -> bytes:
    words = draw(st.lists(st.one_of(WORDS, NUMBERS), max_size=4))
    blanks = draw(st.lists(BLANKS, min_size=len(words), max_size=len(words)))
    arguments = b"".join(blank + word for blank, word in zip(blanks, words, strict=True))
    return draw(VERBS) + arguments + draw(ENDS)


@st.composite
def good_line(draw: st.DrawFn) -> bytes:
    """A line that keeps the connection alive, so that streams get somewhere."""
    word, other, sid = draw(WORDS), draw(WORDS), draw(st.sampled_from([b"1", b"2", b"3"]))
    return draw(
        st.sampled_from(
            [
                b"SUB " + word + b" " + sid + b"\r\n",
                b"SUB " + word + b" group" + sid + b" " + sid + b"\r\n",
                b"UNSUB " + sid + b"\r\n",
                b"UNSUB " + sid + b" 2\r\n",
                b"PUB " + word + b" 2\r\nhi\r\n",
                b"PUB " + word + b" " + other + b" 0\r\n\r\n",
                b"HPUB " + word + b" " + other + b" 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
                b"PING\r\n",
            ]
        )
    )


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    parts = draw(st.lists(st.one_of(good_line(), good_line(), odd_line(), PAYLOADS), max_size=8))
    return draw(OPENINGS) + b"".join(parts) + b"PING\r\n"


def settled(lines: list[str]) -> list[str]:
    """The stream without what nats-server leaves to chance.

    That is the order among the deliveries of one message, which of several subscriptions to the
    reply gets a 503, and whether a pedantic error is repeated because a publish came in two reads.
    """
    result: list[str] = []
    run: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(("MSG ", "HMSG ")):
            is_status = "NATS/1.0 503" in line
            run.append(re.sub(r"^(HMSG \S+) \S+", r"\1 *", line) if is_status else line)
        else:
            result += sorted(run)
            run = []
            if not result or line != result[-1] or "Invalid Publish" not in line:
                result.append(line)
    return result


@settings(
    derandomize=True,
    max_examples=400,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=streams())
def test_random_streams(oracle: Server, ours: Server, data: bytes) -> None:
    assert_alike(oracle, ours, data, settled)
