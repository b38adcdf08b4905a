"""JetStream for Python code: one interface, in the server's process or over a connection."""

from jetstream_py.js.bus import Bus, Inbox
from jetstream_py.js.errors import (
    ApiError,
    Disconnected,
    InvalidName,
    JetStreamError,
    MessageNotFound,
    NoResponders,
    PayloadTooLarge,
    PermissionDenied,
    RequestTimeout,
    StreamExists,
    StreamNotFound,
    WrongLastSequence,
)
from jetstream_py.js.interface import JetStream
from jetstream_py.js.reader import Reader, Start
from jetstream_py.js.types import Message, PubAck, Received, StreamInfo, StreamState
from jetstream_py.js.watch import Watcher
from jetstream_py.js.wire import WireJetStream

__all__ = [
    "ApiError",
    "Bus",
    "Disconnected",
    "Inbox",
    "InvalidName",
    "JetStream",
    "JetStreamError",
    "Message",
    "MessageNotFound",
    "NoResponders",
    "PayloadTooLarge",
    "PermissionDenied",
    "PubAck",
    "Reader",
    "Received",
    "RequestTimeout",
    "Start",
    "StreamExists",
    "StreamInfo",
    "StreamNotFound",
    "StreamState",
    "Watcher",
    "WireJetStream",
    "WrongLastSequence",
]
