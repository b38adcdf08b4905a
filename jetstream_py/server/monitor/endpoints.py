"""The endpoints as a table, and the way from a request's target to an answer. No sockets here.

Paths are judged as Go's HTTP router does: decoded, compared whole, and one with empty or dot
segments is redirected to its clean form (`//varz` is what tools ask when told `http://host:8222/`).
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

import msgspec

from jetstream_py import gotext
from jetstream_py.server.monitor import bundle, views
from jetstream_py.server.monitor.connz import ConnzOptions, connz
from jetstream_py.server.monitor.healthz import HealthzOptions, healthz
from jetstream_py.server.monitor.query import BadRequest, Query, parse_query
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.subsz import SubszOptions, subsz
from jetstream_py.server.monitor.varz import varz
from jetstream_py.server.monitor.view import BrokerView

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"

# Contents are for the one who asked: not for caches, and not for the scripts of other sites.
PRIVATE: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class Answer(NamedTuple):
    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}


class Request(NamedTuple):
    """What an endpoint works with. It counts the request when the real server would."""

    broker: BrokerView
    state: MonitorState
    query: Query


Endpoint = Callable[[Request], Answer]


class Asked(NamedTuple):
    """What of an HTTP request matters."""

    target: str  # path and query as they came over the wire
    method: str = "GET"
    visitor: views.Visitor = views.Visitor()


# -- answers ---------------------------------------------------------------------------------------


def pretty(value: object) -> bytes:
    """JSON as nats-server writes it: indented by two, with Go's escapes."""
    return gotext.escape_json(msgspec.json.format(msgspec.json.encode(value), indent=2))


def compact(value: object) -> bytes:
    return gotext.escape_json(msgspec.json.encode(value))


def json_answer(body: bytes, status: int = 200) -> Answer:
    return Answer(status, JSON, body, {"Access-Control-Allow-Origin": "*"})


def bad_request(text: str) -> Answer:
    return Answer(400, TEXT, text.encode("utf-8", "surrogateescape"))


NOT_FOUND: Final = Answer(404, TEXT, b"404 page not found\n", {"X-Content-Type-Options": "nosniff"})


def redirect(path: str, query: str) -> Answer:
    # Quoted again: a decoded path may hold a line end, which must not become one in a header.
    location = quote(path, errors="surrogateescape")
    if query:
        location += "?" + quote(query, safe="%&=+/:;,@?!$'()*", errors="surrogateescape")
    body = f'<a href="{html.escape(location)}">Temporary Redirect</a>.\n\n'
    return Answer(307, HTML, body.encode(), {"Location": location})


# -- endpoints -------------------------------------------------------------------------------------


def _varz(request: Request) -> Answer:
    request.state.count("/varz")
    return json_answer(pretty(varz(request.broker, request.state)))


def _connz(request: Request) -> Answer:
    options = ConnzOptions.from_query(request.query)
    request.state.count("/connz")  # not when the arguments cannot be read
    return json_answer(pretty(connz(request.broker, options)))


def _subsz(request: Request) -> Answer:
    request.state.count("/subsz")
    return json_answer(pretty(subsz(request.broker, SubszOptions.from_query(request.query))))


def _healthz(request: Request) -> Answer:
    request.state.count("/healthz")
    code, health = healthz(request.broker, HealthzOptions.from_query(request.query))
    return json_answer(compact(health), code)


def _history(request: Request) -> Answer:
    request.state.count("/history")
    return json_answer(compact(request.state.history.columns()))


class Page(NamedTuple):
    """A row of the table. Pages without a title are not on the index."""

    answer: Endpoint
    title: str = ""


ENDPOINTS: Final[Mapping[str, Page]] = {
    "/varz": Page(_varz, "General"),
    "/connz": Page(_connz, "Connections"),
    "/subsz": Page(_subsz, "Subscriptions"),
    "/subscriptionsz": Page(_subsz),
    "/healthz": Page(_healthz, "Health"),
    "/history": Page(_history, "Last hour"),
}


def _index(request: Request) -> Answer:
    request.state.count("/")
    base = base_path(request.broker.options.http_base_path)
    links = {path: page.title for path, page in ENDPOINTS.items() if page.title}
    body = bundle.index(base, request.broker.server_name, links)
    return Answer(200, HTML, body, bundle.HEADERS)


def _file(path: str) -> Endpoint:
    file = bundle.FILES[path]
    return lambda request: Answer(200, file.content_type, file.body, bundle.HEADERS)


# -- routing ---------------------------------------------------------------------------------------


def base_path(option: str) -> str:
    """`http_base_path` with one slash in front and none behind; empty for the root."""
    clean = posixpath.normpath("/" + option.strip("/"))
    return "" if clean in ("/", "//", ".") else clean


def answer(broker: BrokerView, state: MonitorState, target: str) -> Answer:
    """Answer a request for `target`, the path and query as they came over the wire."""
    raw_path, _, raw_query = target.partition("?")
    path = unquote(raw_path, errors="surrogateescape")
    clean = clean_path(path)
    if clean != path:
        return redirect(clean, raw_query)
    base = base_path(broker.options.http_base_path)
    if path == (base or "/"):
        endpoint: Endpoint = _index
    elif path.startswith(base + "/") and path[len(base) :] in ENDPOINTS:
        endpoint = ENDPOINTS[path[len(base) :]].answer
    elif path.startswith(base + "/") and path[len(base) :] in bundle.FILES:
        endpoint = _file(path[len(base) :])
    else:
        return NOT_FOUND
    try:
        return endpoint(Request(broker, state, parse_query(raw_query)))
    except BadRequest as error:
        return bad_request(str(error))


async def respond(broker: BrokerView, state: MonitorState, asked: Asked) -> Answer:
    """Answer a request. What is below /view depends on who asks, and may have to wait for a judge."""
    base = base_path(broker.options.http_base_path)
    if state.viewer is None or not asked.target.startswith(base + views.PREFIX):
        return answer(broker, state, asked.target)
    state.count("/view")
    if asked.method not in ("GET", "HEAD"):
        return Answer(405, TEXT, b"405 method not allowed\n", {"Allow": "GET, HEAD"})
    target = asked.target[len(base) :]
    try:
        async with state.judges:
            shown = await views.view(state.viewer, target, asked.visitor)
    except BadRequest as error:
        return bad_request(str(error))
    except views.Refusal as refusal:
        return _refuse(broker, asked, refusal)
    return Answer(200, JSON, compact(shown), PRIVATE)


def _refuse(broker: BrokerView, asked: Asked, refusal: views.Refusal) -> Answer:
    headers = dict(PRIVATE)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="jetstream-py", charset="UTF-8"'
        if asked.visitor.authorization:
            broker.log.error(f"{asked.visitor.ip} - monitor - authentication error")
    return Answer(refusal.status, TEXT, refusal.text.encode(), headers)


def clean_path(path: str) -> str:
    """Without empty and dot segments; a slash at the end stays."""
    clean = posixpath.normpath("/" + path.lstrip("/"))
    return clean + "/" if path.endswith("/") and clean != "/" else clean
