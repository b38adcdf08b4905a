"""Requests that are no JSON, or not the JSON that is asked for: the texts of both servers."""

from __future__ import annotations

import json

import pytest

from jetstream_py.api.decode import decode_body, decode_optional, decode_required, is_empty
from jetstream_py.api.errors import ApiError
from jetstream_py.api.fields import Wire
from jetstream_py.api.requests import (
    MsgDeleteRequest,
    MsgGetRequest,
    StreamConfigRequest,
    StreamInfoRequest,
    StreamListRequest,
    StreamNamesRequest,
    StreamPurgeRequest,
)
from jetstream_py.api.stream_config import Rules
from tests.api.cases_json import SHAPES, SYNTAX, TIMES, WHOLE
from tests.api.oracle import Oracle, created

RULES = Rules()


def compare(jetstream: Oracle, bodies: list[tuple[str, bytes]]) -> list[tuple[bytes, str, str]]:
    """The bodies to which the two give different answers."""
    different = []
    for name, body in bodies:
        theirs = jetstream.config("CREATE", name, body)
        if "err_code" not in theirs:
            jetstream.delete(name)
        ours = created(body, RULES)
        if ours != theirs:
            different.append((body[:200], theirs, ours))
    return different


def test_syntax_errors(jetstream: Oracle) -> None:
    assert compare(jetstream, [("S", body) for body in SYNTAX]) == []


def test_shapes(jetstream: Oracle) -> None:
    names = [jetstream.fresh_name() for _ in SHAPES]
    bodies = [
        (name, f'{{"name":"{name}",{shape}}}'.encode())
        for name, shape in zip(names, SHAPES, strict=True)
    ]
    assert compare(jetstream, bodies) == []


def test_times(jetstream: Oracle) -> None:
    bodies = []
    for text in TIMES:
        name = jetstream.fresh_name()
        mirror = {"name": "NOPE", "opt_start_time": text}
        bodies.append((name, json.dumps({"name": name, "mirror": mirror}).encode()))
    assert compare(jetstream, bodies) == []


@pytest.mark.parametrize("value", ["5", "true", "{}", "[]", "null"])
def test_times_of_another_kind(jetstream: Oracle, value: str) -> None:
    name = jetstream.fresh_name()
    body = f'{{"name":"{name}","mirror":{{"name":"NOPE","opt_start_time":{value}}}}}'.encode()
    assert compare(jetstream, [(name, body)]) == []


def test_bytes_that_are_no_text(jetstream: Oracle) -> None:
    bodies = []
    for part in (b'"description":"\xff\xfex"', b'"descr\xff":1', b'"description":"\xe2\x82"'):
        name = jetstream.fresh_name()
        bodies.append((name, b'{"name":"%b",%b}' % (name.encode(), part)))
    assert compare(jetstream, bodies) == []


@pytest.mark.parametrize("text", WHOLE)
def test_whole_bodies(jetstream: Oracle, text: str) -> None:
    """A body may hold several values; one without a name is not for any stream."""
    name = jetstream.fresh_name()
    body = text.replace("@", name).encode()
    theirs = jetstream.config("CREATE", name, body)
    ours = created(body, RULES)
    if "10025" not in ours and decode_body(body, StreamConfigRequest).name != name:
        assert '"err_code":10056' in theirs
    else:
        assert ours == theirs
    jetstream.delete(name)


# -- endpoints with other bodies -------------------------------------------------------------------

OPTIONAL: dict[str, type[Wire]] = {
    "STREAM.NAMES": StreamNamesRequest,
    "STREAM.LIST": StreamListRequest,
    "STREAM.INFO.BODIES": StreamInfoRequest,
    "STREAM.PURGE.BODIES": StreamPurgeRequest,
}
REQUIRED: dict[str, type[Wire]] = {
    "STREAM.MSG.GET.BODIES": MsgGetRequest,
    "STREAM.MSG.DELETE.BODIES": MsgDeleteRequest,
}
BODIES = (
    "",
    " ",
    " { } ",
    *"""
{}
null
[]
 [1]
5
"x"
x
{
{x
{"bogus":1}
{} x
{}{}
{"offset":"x"}
{"offset":1.5}
{"subject":1}
{"deleted_details":1}
{"subjects_filter":1}
{"seq":"x"}
{"seq":-1}
{"keep":-1}
{"filter":1}
{"no_erase":1}
{"batch":"x"}
{"no_hdr":1}
{"start_time":"x"}
{"multi_last":"x"}
{"multi_last":[1]}
{"max_bytes":"x"}
{"up_to_seq":"x"}
{"up_to_time":5}
{"next_by_subj":1}
{"last_by_subj":1}
""".strip("\n").split("\n"),
)


@pytest.fixture(scope="module")
def bodies(jetstream: Oracle) -> Oracle:
    jetstream.config("CREATE", "BODIES", {"name": "BODIES"})
    return jetstream


@pytest.mark.parametrize("endpoint", [*OPTIONAL, *REQUIRED])
def test_other_bodies(bodies: Oracle, endpoint: str) -> None:
    """Both refuse a body for the same reason, or neither for its form."""
    different = []
    for body in BODIES:
        fault = json.loads(bodies.request(endpoint, body)).get("error", {})
        theirs = fault.get("description") if fault.get("err_code") in (10025, 10003) else None
        ours = refusal(endpoint, body.encode())
        if ours is None and theirs == "bad request":
            continue  # a well-formed request that asks for nothing
        if theirs != ours:
            different.append((body, theirs, ours))
    assert different == []


def refusal(endpoint: str, body: bytes) -> str | None:
    try:
        if endpoint in OPTIONAL:
            decode_optional(body, OPTIONAL[endpoint])
        else:
            decode_required(body, REQUIRED[endpoint])
    except ApiError as fault:
        return fault.description
    return None


@pytest.mark.parametrize(
    "body", ["", "{}", " {}", "{ }", "{}\n", " ", "null", "[]", "{} {}", '{"a":1}', "x"]
)
def test_bodies_that_must_be_empty(jetstream: Oracle, body: str) -> None:
    fault = json.loads(jetstream.request("STREAM.DELETE.NOPE", body))["error"]
    assert fault["err_code"] == (10059 if is_empty(body.encode()) else 10038)


# -- without a server ------------------------------------------------------------------------------


def test_lenient_decoding_passes_over_unknown_fields() -> None:
    body = b'{"bogus":[1,{"a":2}],"seq":5,"other":null}'
    assert decode_body(body, MsgGetRequest, strict=False).seq == 5
    with pytest.raises(ApiError, match='unknown field "bogus"'):
        decode_body(body, MsgGetRequest)


def test_lenient_decoding_is_strict_in_all_else() -> None:
    with pytest.raises(ApiError, match="cannot unmarshal string"):
        decode_body(b'{"bogus":1,"seq":"x"}', MsgGetRequest, strict=False)
