"""Questions to the system account: to all servers at once, or to one by its name or id."""

from __future__ import annotations

import json
import time
from typing import Final

from jetstream_py.cli.connect import Session
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.message import NO_RESPONDERS, Requests, status
from jetstream_py.migrate.connection import Json

GAP: Final = 0.3  # seconds after an answer in which another server may answer
HINT: Final = "this needs a user of the system account: see --user, --creds, --context"


async def gather(
    session: Session, kind: str, body: Json | None = None, expect: int = 0
) -> list[Json]:
    """Answers of all servers, with the round trip of each as `rtt`, nanoseconds. Raises `Failure`.

    `kind` is VARZ, CONNZ …, nothing for statistics, or a whole subject.
    """
    requests = await Requests(session).open()
    begin = time.monotonic_ns()
    whole = ".".join(part for part in ("$SYS.REQ.SERVER.PING", kind) if part)
    subject = kind if kind.startswith("$SYS.") else whole
    inbox = await requests.send(subject, b"", json.dumps(body or {}).encode())
    found: list[Json] = []
    wait = session.timeout
    while (not expect or len(found) < expect) and (
        msg := await requests.answer(inbox, wait)
    ) is not None:
        if status(msg) == NO_RESPONDERS:
            raise Failure("no server answers questions about itself", HINT)
        answer: Json = json.loads(msg.data)
        found.append({**answer, "rtt": time.monotonic_ns() - begin})
        wait = GAP
    requests.done(inbox)
    if not found:
        raise Failure(f"no server answers within {session.timeout:g} s", HINT)
    if expect and len(found) < expect:
        raise Failure(f"{len(found)} of {expect} servers have answered")
    return found


async def one(session: Session, kind: str, name: str | None, body: Json | None = None) -> Json:
    """The answer of the server with a name or id; of the one we are connected to without."""
    wanted = name or session.server_info["server_id"]
    for answer in await gather(session, kind, body):
        server = answer["server"]
        if wanted in (server.get("name"), server.get("id")):
            return answer
    raise Failure(
        f"there is no server {wanted}", "`jetstream-py server list` shows those there are"
    )
