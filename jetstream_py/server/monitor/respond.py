"""From an HTTP request to an answer, for those pages too that depend on who asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from jetstream_py.server.monitor import views
from jetstream_py.server.monitor.endpoints import (
    JSON,
    TEXT,
    Answer,
    answer,
    bad_request,
    base_path,
    compact,
)
from jetstream_py.server.monitor.query import BadRequest
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.view import BrokerView

# Contents are for the one who asked: not for caches, and not for the scripts of other sites.
PRIVATE: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class Asked(NamedTuple):
    """What of an HTTP request matters."""

    target: str  # path and query as they came over the wire
    method: str = "GET"
    visitor: views.Visitor = views.Visitor()


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
