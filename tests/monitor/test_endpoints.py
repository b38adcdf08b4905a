"""From a request's target to an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.config.options import Options
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor.endpoints import ENDPOINTS, Answer, answer, base_path
from jetstream_py.server.monitor.state import MonitorState
from tests.monitor.fakes import FakeBroker

CORS = {"Access-Control-Allow-Origin": "*"}


class Asker:
    def __init__(self, base: str = "") -> None:
        self.broker = FakeBroker(options=Options(http_base_path=base))
        self.state = MonitorState("0.0.0.0", 8222)

    def __call__(self, target: str) -> Answer:
        return answer(self.broker, self.state, target)


@pytest.fixture
def ask() -> Asker:
    return Asker()


NO_JSON = {"/raftz", "/stacksz", "/debug/vars", "/metrics"}


@pytest.mark.parametrize(
    "path",
    [*sorted(ENDPOINTS.keys() - NO_JSON), "/%76arz", "/varz?callback=cb", "/varz?%", "/varz?"],
)
def test_json_pages(ask: Asker, path: str) -> None:
    reply = ask(path)
    assert (reply.status, reply.content_type, reply.headers) == (200, "application/json", CORS)
    assert isinstance(json.loads(reply.body), dict)


@pytest.mark.parametrize("path", ["/nope", "/varz/", "/varz/x", "/VARZ", "/healthz%2f", "/varz%00"])
def test_everything_else_is_not_found(ask: Asker, path: str) -> None:
    assert ask(path) == Answer(
        404,
        "text/plain; charset=utf-8",
        b"404 page not found\n",
        {"X-Content-Type-Options": "nosniff"},
    )


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("//varz", "/varz"),
        ("/a/../varz?limit=1&b", "/varz?limit=1&b"),
        ("/./varz", "/varz"),
        ("//", "/"),
        ("/varz//", "/varz/"),
        ("//evil.example/", "/evil.example/"),
        ("//%0d%0aSet-Cookie:x", "/%0D%0ASet-Cookie%3Ax"),
        ("//\udcff?\udcff", "/%FF?%FF"),
    ],
)
def test_unclean_paths_are_redirected_within_the_server(
    ask: Asker, target: str, location: str
) -> None:
    reply = ask(target)
    assert (reply.status, reply.headers["Location"]) == (307, location)
    assert reply.body.endswith(b"Temporary Redirect</a>.\n\n")


def test_index_links_what_exists(ask: Asker) -> None:
    reply = ask("/")
    assert (reply.status, reply.content_type) == (200, "text/html; charset=utf-8")
    for path in ("/varz", "/connz", "/subsz", "/healthz"):
        assert f'href="{path}"'.encode() in reply.body


@pytest.mark.parametrize("option", ["/base/path", "base/path", "/base/path/", "//base//path"])
def test_base_path(option: str) -> None:
    ask = Asker(option)
    assert ask("/base/path").content_type.startswith("text/html")
    assert b'href="/base/path/varz"' in ask("/base/path").body
    assert ask("/base/path/healthz").status == 200
    for path in ("/", "/base", "/base/path/", "/healthz", "/base/pathhealthz"):
        assert ask(path).status == 404
    assert ask.state.requests == {"/": 2, "/healthz": 1}


@pytest.mark.parametrize("option", ["", "/", "//", "."])
def test_no_base_path(option: str) -> None:
    assert base_path(option) == ""


def test_bad_arguments_are_400_with_a_text(ask: Asker) -> None:
    assert ask("/connz?sort=foo") == Answer(
        400, "text/plain; charset=utf-8", b"invalid sorting option: foo"
    )
    assert ask("/connz?sort=%ff").body == b"invalid sorting option: \xff"
    assert ask("/connz?limit=%ff").body.endswith(b'parsing "\\xff": invalid syntax')


def test_requests_are_counted_as_the_real_server_counts(ask: Asker) -> None:
    for target in (
        "/", "/varz", "/connz", "/connz?sort=foo", "/connz?limit=x", "/connz?state=x", "/subsz",
        "/subscriptionsz", "/subsz?limit=x", "/healthz", "/healthz?details=x", "/nope", "//varz",
    ):  # fmt: skip
        ask(target)
    assert ask.state.requests == {"/": 1, "/varz": 1, "/connz": 2, "/subsz": 3, "/healthz": 2}


def test_json_is_indented_and_safe_in_a_browser(ask: Asker) -> None:
    ask.broker.connect(5, connect=ConnectOptions(name="<b>&\u2028é"))
    body = ask("/connz").body
    assert body.startswith(b'{\n  "server_id": "NSERVER",\n  "now": ')
    assert b'"name": "\\u003cb\\u003e\\u0026\\u2028\xc3\xa9"' in body
    assert b'"connections": []\n}' in Asker()("/connz").body


def test_subjects_that_are_no_text(ask: Asker) -> None:
    ask.broker.subscribe(ask.broker.connect(5), b"a\xff")
    assert '"a\ufffd"'.encode() in ask("/connz?subs=1").body


def health(ask: Asker, query: str = "") -> tuple[int, bytes]:
    reply = ask(f"/healthz?{query}")
    return reply.status, reply.body


def test_health(ask: Asker) -> None:
    assert health(ask) == (200, b'{"status":"ok"}')
    assert health(ask, "js-enabled-only=true&details=1") == (200, b'{"status":"ok"}')
    assert health(ask, "account=A&stream=S&consumer=C") == (200, b'{"status":"ok"}')
    assert health(ask, "consumer=C") == (
        400,
        b'{"status":"error","error":"\\"stream\\" must not be empty when checking consumer health"}',
    )
    assert health(ask, "stream=S&details=1") == (
        400,
        b'{"status":"error","errors":[{"type":"BAD_REQUEST",'
        b'"error":"\\"account\\" must not be empty when checking stream health"}]}',
    )


def test_ill_health_is_logged(ask: Asker) -> None:
    health(ask, "js-enabled=1")
    health(ask, "stream=S")
    health(ask, "stream=S&details=1")
    assert ask.broker.log.lines == [
        "[WRN] Healthcheck: js-enabled deprecated, use js-enabled-only instead",
        r'''[WRN] Healthcheck failed: "\"account\" must not be empty when checking stream health"''',
        "[WRN] Healthcheck failed: 1 errors",
    ]


def test_a_lame_duck_is_not_healthy(ask: Asker) -> None:
    ask.broker.lame_duck_mode = True
    text = b"failed to be ready for connections after 1ms: server"
    assert health(ask) == (500, b'{"status":"error","error":"%b"}' % text)
    assert health(ask, "details=1") == (
        500,
        b'{"status":"error","errors":[{"type":"CONNECTION","error":"%b"}]}' % text,
    )


@pytest.mark.parametrize(
    "name", ["js-enabled", "js-enabled-only", "js-server-only", "js-meta-only", "details"]
)
def test_health_switches_are_booleans(ask: Asker, name: str) -> None:
    assert health(ask, f"{name}=x") == (
        400,
        f"""Error decoding boolean for '{name}': strconv.ParseBool: parsing "x": """.encode()
        + b"invalid syntax",
    )


PIECES = st.sampled_from(
    [*ENDPOINTS, "/", "?", "&", "=", "%", "%ff", "%00", "..", ";", "sort=", "limit=", "offset=",
     "cid=", "state=", "subs=", "test=", "acc=", "user=", "9" * 30, "-1", "detail", "a.*"]
)  # fmt: skip
BYTES = st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape"))


@given(st.lists(PIECES | BYTES, max_size=8).map("".join))
def test_no_target_is_too_strange(target: str) -> None:
    reply = Asker()("/" + target)
    assert reply.status in (200, 307, 400, 404)
    assert not any(c in value for value in reply.headers.values() for c in "\r\n")
