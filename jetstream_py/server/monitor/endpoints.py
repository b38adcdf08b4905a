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
from jetstream_py.server.monitor import bundle, cluster, debug
from jetstream_py.server.monitor.accountz import accountz
from jetstream_py.server.monitor.accstatz import accstatz, unused
from jetstream_py.server.monitor.connz import ConnzOptions, connz
from jetstream_py.server.monitor.healthz import HealthzOptions, healthz
from jetstream_py.server.monitor.jsz import JszOptions, jsz
from jetstream_py.server.monitor.query import BadRequest, Query, parse_query
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.subsz import SubszOptions, subsz
from jetstream_py.server.monitor.varz import varz
from jetstream_py.server.monitor.view import BrokerView

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"


class Answer(NamedTuple):
    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}
    render: Callable[[], bytes] | None = None  # makes the body; long enough for a thread of its own


class Request(NamedTuple):
    """What an endpoint works with. It counts the request when the real server would."""

    broker: BrokerView
    state: MonitorState
    query: Query


Endpoint = Callable[[Request], Answer]


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


def _accountz(request: Request) -> Answer:
    request.state.count("/accountz")
    return json_answer(pretty(accountz(request.broker, request.query.get("acc", ""))))


def _accstatz(request: Request) -> Answer:
    request.state.count("/accstatz")
    return json_answer(pretty(accstatz(request.broker, unused(request.query))))


def _jsz(request: Request) -> Answer:
    request.state.count("/jsz")
    return json_answer(pretty(jsz(request.broker, JszOptions.from_query(request.query))))


def _routez(request: Request) -> Answer:
    cluster.check_subs(request.query)
    request.state.count("/routez")
    return json_answer(pretty(cluster.routez(request.broker)))


def _gatewayz(request: Request) -> Answer:
    request.state.count("/gatewayz")
    cluster.check_gatewayz(request.query)
    return json_answer(pretty(cluster.gatewayz(request.broker)))


def _leafz(request: Request) -> Answer:
    request.state.count("/leafz")
    cluster.check_leafz(request.query)
    return json_answer(pretty(cluster.leafz(request.broker)))


def _ipqueuesz(request: Request) -> Answer:
    cluster.check_ipqueuesz(request.query)
    return json_answer(b"{}")


def _raftz(request: Request) -> Answer:
    return Answer(404, TEXT, cluster.NO_RAFT.encode())


def _stacksz(request: Request) -> Answer:
    return json_answer(debug.stacks().encode())


def _debug_vars(request: Request) -> Answer:
    return Answer(200, JSON + "; charset=utf-8", pretty(debug.debug_vars()) + b"\n")


def _metrics(request: Request) -> Answer:
    try:
        from jetstream_py.server.monitor.metrics import CONTENT_TYPE, metrics
    except ImportError:
        text = b"/metrics needs prometheus-client: pip install 'jetstream-py[monitor]'\n"
        return Answer(501, TEXT, text)
    request.state.count("/metrics")
    return Answer(200, CONTENT_TYPE, b"", render=metrics(request.broker, request.state))


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
    "/accountz": Page(_accountz, "Accounts"),
    "/accstatz": Page(_accstatz, "Account statistics"),
    "/jsz": Page(_jsz, "JetStream"),
    "/routez": Page(_routez, "Routes"),
    "/gatewayz": Page(_gatewayz, "Gateways"),
    "/leafz": Page(_leafz, "Leaf nodes"),
    "/metrics": Page(_metrics, "Metrics for Prometheus"),
    "/ipqueuesz": Page(_ipqueuesz),
    "/raftz": Page(_raftz),
    "/stacksz": Page(_stacksz),
    "/debug/vars": Page(_debug_vars),
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


def clean_path(path: str) -> str:
    """Without empty and dot segments; a slash at the end stays."""
    clean = posixpath.normpath("/" + path.lstrip("/"))
    return clean + "/" if path.endswith("/") and clean != "/" else clean
