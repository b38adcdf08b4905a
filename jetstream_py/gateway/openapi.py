"""The OpenAPI document of the gateway, at /v1/openapi.json."""

from __future__ import annotations

from typing import Final

from jetstream_py import limits
from jetstream_py.gateway.openapi_parts import (
    BUCKET,
    FLAG,
    INTEGER,
    KEY,
    NAME,
    SCHEMAS,
    STREAM,
    TEXT,
    TIME,
    Json,
    array_of,
    body_of,
    bytes_of,
    in_header,
    in_path,
    in_query,
    json_of,
    nothing,
    operation,
    record,
    ref,
)
from jetstream_py.version import __version__

METHODS: Final = "GET, HEAD, PUT, POST, DELETE, OPTIONS"
# -- operations ------------------------------------------------------------------------------------

_ETAG: Final = {"ETag": "revision of the key, in quotes"}
_WATCH: Final = (
    in_query(
        "watch", FLAG, "what changes, as server-sent events; the id of an event is a revision"
    ),
    in_query("include_history", FLAG, "of a watch: all revisions, not only the newest"),
    in_query("updates_only", FLAG, "of a watch: nothing that is there already"),
    in_query("ignore_deletes", FLAG, "of a watch: values only"),
    in_query("last_event_id", INTEGER, "of a watch: go on behind this revision"),
    in_header("Last-Event-ID", INTEGER, "the same, as browsers send it"),
)
_AT: Final = in_query(
    "at", {"oneOf": [INTEGER, TIME]}, "as of a revision, or of a time; 410 if that is not known"
)
_TTL: Final = in_header(
    "Nats-TTL", {"type": "string", "pattern": "^[1-9][0-9]{0,8}[smh]?$"}, "time to live"
)
_IF_MATCH: Final = in_header("If-Match", TEXT, "only if the key has this revision, or any for *")
_OPTIONS: Final = body_of("application/json", {"type": "object"}, required=False)
_OBJECT_HEADERS: Final = {
    "ETag": "digest of the object, in quotes",
    "Digest": "SHA-256 of the whole object",
    "Accept-Ranges": "bytes",
}

_KV: Final[Json] = {
    "/v1/kv": {
        "get": operation(
            "listBuckets",
            "All buckets",
            {"200": json_of("buckets", record({"buckets": array_of(ref("Bucket"))}))},
        )
    },
    "/v1/kv/{bucket}": {
        "parameters": [in_path("bucket", BUCKET)],
        "get": operation(
            "getBucket",
            "Status of a bucket, its keys, its past, or what changes",
            {
                "200": {
                    "description": "status; with keys, at or watch what these ask for",
                    "content": {
                        "application/json": {"schema": {"type": "object"}},
                        "text/event-stream": {"schema": TEXT},
                    },
                }
            },
            (
                in_query("keys", FLAG, "the keys that have a value"),
                in_query("filter", TEXT, "of keys or a watch: with * for tokens, > for the rest"),
                _AT,
                *_WATCH,
            ),
            bad=(410,),
        ),
        "put": operation(
            "createBucket",
            "Make a bucket; 409 if it is there with other options",
            {"200": json_of("its status", ref("Bucket"))},
            body=_OPTIONS,
            bad=(409, 413, 500),
        ),
        "delete": operation("deleteBucket", "Remove it", {"204": nothing("gone")}),
    },
    "/v1/kv/{bucket}/{key}": {
        "parameters": [in_path("bucket", BUCKET), in_path("key", KEY)],
        "get": operation(
            "getKey",
            "A value, its history, or what changes",
            {
                "200": {
                    "description": "the value; JSON with history, events with watch",
                    "content": {
                        "application/octet-stream": {"schema": {}},
                        "application/json": {"schema": ref("History")},
                        "text/event-stream": {"schema": TEXT},
                    },
                    "headers": {
                        name: {"description": text, "schema": TEXT} for name, text in _ETAG.items()
                    },
                },
                "304": nothing("the caller has it"),
            },
            (
                _AT,
                in_query("history", FLAG, "all revisions that are kept"),
                *_WATCH,
                in_header("If-None-Match", TEXT, "the revision that the caller has"),
            ),
            bad=(410,),
        ),
        "put": operation(
            "putKey",
            "Set a value; when this is answered it is on disk",
            {"200": json_of("its revision", ref("Revision"))},
            (
                _IF_MATCH,
                in_header("If-None-Match", {"const": "*"}, "only if there is no value"),
                _TTL,
            ),
            body_of("application/octet-stream", {}),
            (409, 412, 413),
        ),
        "delete": operation(
            "deleteKey",
            "Leave a marker in place of the value",
            {"204": nothing("done")},
            (in_query("purge", FLAG, "remove the history, too"), _IF_MATCH, _TTL),
            bad=(409, 412),
        ),
    },
}

_OBJECTS: Final[Json] = {
    "/v1/objects": {
        "get": operation(
            "listStores",
            "All object stores",
            {"200": json_of("stores", record({"buckets": array_of(ref("Store"))}))},
        )
    },
    "/v1/objects/{bucket}": {
        "parameters": [in_path("bucket", BUCKET)],
        "get": operation(
            "getStore", "A store and its objects", {"200": json_of("a store", ref("Objects"))}
        ),
        "put": operation(
            "createStore",
            "Make a store; 409 if it is there with other options",
            {"200": json_of("its status", ref("Store"))},
            body=_OPTIONS,
            bad=(409, 413, 500),
        ),
        "delete": operation("deleteStore", "Remove it", {"204": nothing("gone")}),
    },
    "/v1/objects/{bucket}/{name}": {
        "parameters": [in_path("bucket", BUCKET), in_path("name", NAME)],
        "get": operation(
            "getObject",
            "The bytes of an object, or a range of them",
            {
                "200": bytes_of("the object", "*/*", **_OBJECT_HEADERS),
                "206": bytes_of("a part of it", "*/*", **_OBJECT_HEADERS),
                "304": nothing("the caller has it"),
            },
            (
                in_header("Range", TEXT, "bytes=<first>-<last>"),
                in_header("If-None-Match", TEXT, "what the caller has"),
            ),
            bad=(416, 500),
        ),
        "put": operation(
            "putObject",
            "Store an object in place of what is there; what breaks off leaves nothing",
            {"200": json_of("what is known of it", ref("Object"))},
            (in_query("description", TEXT, "what it is"),),
            body_of("application/octet-stream", {}),
            (408, 409, 413, 500),
        ),
        "delete": operation("deleteObject", "Remove it", {"204": nothing("gone")}, bad=(409,)),
    },
}

_STREAMS: Final[Json] = {
    "/v1/streams": {
        "get": operation(
            "listStreams",
            "All streams",
            {"200": json_of("streams", record({"streams": array_of(ref("Stream"))}))},
        )
    },
    "/v1/streams/{stream}": {
        "parameters": [in_path("stream", STREAM)],
        "get": operation("getStream", "A stream", {"200": json_of("it", ref("Stream"))}),
    },
    "/v1/streams/{stream}/messages": {
        "parameters": [in_path("stream", STREAM)],
        "get": operation(
            "getMessages",
            "A page of messages, or those that come",
            {
                "200": {
                    "description": "a page; with follow, events",
                    "content": {
                        "application/json": {"schema": ref("Messages")},
                        "text/event-stream": {"schema": TEXT},
                    },
                }
            },
            (
                in_query("from", INTEGER, "the first sequence; the next of the page before"),
                in_query("time", TIME, "the first time"),
                in_query("subject", TEXT, "a filter"),
                in_query(
                    "limit", {**INTEGER, "minimum": 1, "maximum": limits.GATEWAY_PAGE_MAX}, ""
                ),
                in_query("follow", FLAG, "as server-sent events, and then those that come"),
                in_query("last_event_id", INTEGER, "of follow: go on behind this sequence"),
                in_header("Last-Event-ID", INTEGER, "the same, as browsers send it"),
            ),
        ),
        "post": operation(
            "publish",
            "Store a message. Nats-Msg-Id, Nats-Expected-... and Nats-TTL are headers; "
            "Nats-Header-X is the message's header X",
            {"200": json_of("it is on disk", ref("PubAck"))},
            (
                in_query("subject", TEXT, "of the message", required=True),
                in_header("Nats-Msg-Id", TEXT, "a message of this id is stored once"),
                in_header("Nats-Expected-Last-Sequence", INTEGER, "412 if it is another one"),
                in_header(
                    "Nats-Expected-Last-Subject-Sequence", INTEGER, "the same, of its subject"
                ),
                in_header("Nats-Expected-Last-Msg-Id", TEXT, "412 if it is another one"),
            ),
            body_of("application/octet-stream", {}),
            (409, 412, 413, 500),
        ),
    },
}

DOCUMENT: Final[Json] = {
    "openapi": "3.1.0",
    "info": {
        "title": "jetstream-py HTTP gateway",
        "version": __version__,
        "description": "Key-value buckets, objects and streams, with the users of the NATS server.",
    },
    "security": [{"user": []}, {"token": []}, {}],
    "paths": {**_KV, **_OBJECTS, **_STREAMS},
    "components": {
        "schemas": SCHEMAS,
        "responses": {"Error": json_of("it was not done", ref("Error"))},
        "securitySchemes": {
            "user": {"type": "http", "scheme": "basic"},
            "token": {"type": "http", "scheme": "bearer"},
        },
    },
}
