"""What scenarios about mirrors and sources have in common."""

from __future__ import annotations

import base64
import json
import re

from tests.jetstream.support import JetStream, Json

IDENTITY = re.compile(rb"(Nats-Stream-Source: [^\r]+) [0-9A-Za-z]{8}\r\n")


def origin(js: JetStream, count: int = 4, **config: object) -> None:
    """A stream O whose messages are on o.0 and o.1 in turn."""
    js.create("O", **{"subjects": ["o.>"], **config})
    js.publish_all(*(f"o.{i % 2}" for i in range(count)))


def gather(js: JetStream, *sources: Json, **config: object) -> None:
    """A stream S with several sources; nats-server's answer has no order, so it is not in the transcript."""
    answer = js.ask("STREAM.CREATE.S", {"name": "S", "sources": sources, **config})
    assert "error" not in answer, answer


def synced(js: JetStream, name: str, **expected: object) -> Json:
    """The state of a copy, once it is as expected and nothing is under way."""

    def reached() -> bool:
        info = js.ask(f"STREAM.INFO.{name}")
        still = all(link["active"] >= 0 and not link["lag"] for link in links(info))
        return still and all(info["state"].get(key) == expected[key] for key in expected)

    js.until(reached)
    info = js.ask(f"STREAM.INFO.{name}")
    for fact in (info["state"], *links(info)):
        js.note(compact(fact))
    state: Json = info["state"]
    return state


def links(info: Json) -> list[Json]:
    """What info says of origins; nats-server has no order."""
    found = [*info.get("sources", ()), *([info["mirror"]] if "mirror" in info else [])]
    return sorted(found, key=lambda link: compact(link | {"active": 0}))


def compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def stored(js: JetStream, name: str) -> list[Json]:
    """All messages of a stream, put into the transcript; the identity of origins is left out."""
    state = js.ask(f"STREAM.INFO.{name}")["state"]
    found = []
    for seq in range(max(1, state["first_seq"]), state["last_seq"] + 1):
        message = js.ask(f"STREAM.MSG.GET.{name}", {"seq": seq}).get("message")
        if message is not None:
            headers = base64.b64decode(message.get("hdrs", ""))
            message["hdrs"] = IDENTITY.sub(rb"\1 <identity>\r\n", headers).decode()
            found.append(message)
            js.note([message[key] for key in ("seq", "subject", "hdrs")])
    return found


def times(js: JetStream, name: str) -> dict[int, str]:
    return {message["seq"]: message["time"] for message in stored(js, name)}
