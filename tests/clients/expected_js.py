"""What an application on a stock JavaScript client sees, by scenario and generation.

Written down and not only compared, so that a run in which both servers fail alike does not pass.
"""

from __future__ import annotations

from typing import Any, Literal

Generation = Literal["v2", "v3"]
GENERATIONS: tuple[Generation, ...] = ("v2", "v3")
SCENARIOS = (
    "auth", "connection", "drain", "iteration", "max_payload", "no_responders", "pubsub", "queue",
    "reconnect", "request", "services",
)  # fmt: skip

INFO = [
    "api_lvl", "client_id", "client_ip", "connect_info", "git_commit", "go", "headers", "host",
    "max_payload", "port", "proto", "remote_account", "server_id", "server_name", "version", "xkey",
]  # fmt: skip
MIB = 1 << 20


def old_error(code: str, message: str = "") -> dict[str, Any]:
    """The second generation has one class and codes."""
    return {"class": "NatsError", "name": "NatsError", "message": message or code, "code": code}


def new_error(kind: str, message: str) -> dict[str, Any]:
    """The third generation has a class for each error."""
    return {"class": kind, "name": kind, "message": message}


def no_responders(generation: Generation, subject: str) -> dict[str, Any]:
    if generation == "v2":
        return old_error("503")
    text = f"no responders: '{subject}'"
    cause = {"class": "NoRespondersError", "name": "NoResponders", "message": text}
    return {**new_error("RequestError", text), "cause": cause}


def expected(generation: Generation) -> dict[str, Any]:
    old = generation == "v2"
    refused = (
        old_error("AUTHORIZATION_VIOLATION", "'Authorization Violation'")
        if old
        else new_error("AuthorizationError", "Authorization Violation")
    )
    too_big = (
        old_error("MAX_PAYLOAD_EXCEEDED")
        if old
        else new_error("InvalidArgumentError", "'payload' max_payload size exceeded")
    )
    closed = (
        old_error("CONNECTION_CLOSED")
        if old
        else new_error("ClosedConnectionError", "closed connection")
    )
    late = old_error("TIMEOUT") if old else new_error("TimeoutError", "timeout")
    nobody = no_responders(generation, "nobody.listens")
    return {
        "auth": {
            "user": "welcome",
            "wrongPassword": refused,
            "wrongUser": refused,
            "noPassword": refused,
            "nobody": refused,
            "token": "welcome",
            "wrongToken": refused,
            "tokenAsUser": refused,
            "noToken": refused,
            "notAsked": "welcome",
        },
        "connection": {
            "echoed": 0,
            "rtt": True,
            "stats": {"inMsgs": 0, "inBytes": 0, "outMsgs": 1, "outBytes": 5},
            "info": INFO,
            "told": {"version": "2.15.1", "headers": True, "max": MIB},
            "heard": 1,
        },
        "drain": {"one": 500, "two": 500, "closed": None, "isClosed": True, "afterwards": closed},
        "iteration": {
            "seen": ["0", "1"],
            "three": ["0", "1", "2"],
            "two": ["0", "1"],
            "reached": ["0", "1", "2"],
            "closed": True,
        },
        "max_payload": {"max": MIB, "received": MIB, "tooBig": too_big, "withHeaders": too_big},
        "no_responders": {"mux": nobody, "own": nobody, "atOnce": True},
        "pubsub": PUBSUB,
        "queue": {"groupA": 600, "everyMember": True, "groupB": 600, "plain": 600},
        "reconnect": {
            "events": ["disconnect", "reconnect"],
            "newClient": True,
            "received": ["sent when back"],
            "limited": ["1", "2", "3"],
        },
        "request": {
            "answer": {"data": "42", "headers": {"Asked": ["why"]}},
            "inbox": True,
            "own": "own inbox",
            "many": True,
            "several": ["a", "b", "c"],
            "late": late,
        },
        "services": services(generation),
    }


PUBSUB = {
    "messages": [
        {"subject": "pubsub.plain", "data": "hello"},
        {
            "subject": "pubsub.headers",
            "data": "with headers",
            "headers": {"First": ["1"], "Second": ["a", "b"], "Empty": [""]},
        },
        {"subject": "pubsub.a.x", "data": ""},
        {"subject": "pubsub.reply", "data": "r"},
    ],
    "reply": "answer.here",
    "bytes": [0, 255, 13, 10, 7],
    "wildcard": [{"subject": "pubsub.a.x", "data": ""}],
    "inOrder": True,
}


def services(generation: Generation) -> dict[str, Any]:
    identity = {"name": "calc", "version": "1.2.3", "metadata": {"region": "test"}, "id": True}
    ping = {"type": "io.nats.micro.v1.ping_response", **identity}
    add = {
        "name": "add",
        "subject": "math.add",
        "queue_group": "q",
        "metadata": {"takes": "numbers"},
    }
    own = {"name": "own", "subject": "own", "queue_group": "other"}
    info = {
        "type": "io.nats.micro.v1.info_response",
        **identity,
        "description": "adds",
        "endpoints": [add, own],
    }
    error = {"Nats-Service-Error-Code": ["400"], "Nats-Service-Error": ["not a list"]}
    return {
        "sum": 6,
        "refused": {"data": "", "headers": error},
        "own": "own",
        "pings": [ping, ping],
        "ids": 2,
        "infos": [info],
        "everybody": 2,
        "raw": ping,
        "endpoints": ["add math.add q", "own own other"],
        "requests": 3,
        "errors": 0,
        "gone": no_responders(generation, "math.add"),
        "schema": no_responders(generation, "$SRV.SCHEMA.calc"),
    }
