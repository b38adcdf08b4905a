"""/view: messages and values, for people. Read only, and only for those who may (see `viewer`).

    /view/account                                        who is looking
    /view/streams/<account>/<stream>/messages            a page of messages, the newest first
        ?before=<seq>    older ones       ?from=<seq>    from there on, the oldest first
        ?subject=<filter>  ?limit=<n>
    /view/streams/<account>/<stream>/messages/<seq>      one, with more of its payload
    /view/buckets/<account>/<bucket>/keys                newest value of each key, newest first
        ?before=<seq>  ?filter=<keys>  ?limit=<n>

These pages are this server's own; nats-server has nothing like them. Payloads are base64, cut to a
size that a page can show. Costs are bounded by the number of messages looked at, not only by those
that are shown: a user who may see none does not make the server walk a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext, headers, limits
from jetstream_py.config.account_options import User
from jetstream_py.server.monitor.query import BadRequest, Query, integer, parse_query, unsigned
from jetstream_py.server.monitor.viewer import (
    MessageView,
    Shelf,
    Viewer,
    credentials,
    is_local,
    readable,
)
from jetstream_py.subject import is_valid

PREFIX = "/view/"


class Refusal(Exception):
    """An answer without contents: a status and a text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Shown(msgspec.Struct, kw_only=True):
    """A message; `data` may be the first part of `size` bytes."""

    seq: int
    time: str
    subject: str
    size: int
    headers: list[tuple[str, str]]
    data: bytes


class Account(msgspec.Struct):
    account: str
    user: str


class Messages(msgspec.Struct, kw_only=True):
    """`next` is where the following page begins, if there is one; `hidden` is how many messages were
    passed over because the user may not read them."""

    first_seq: int
    last_seq: int
    messages: list[Shown]
    hidden: int
    next: int | UnsetType = UNSET


class Visitor(NamedTuple):
    """Who asks, as far as HTTP tells."""

    ip: str = ""
    host: str = ""  # by which name they found us
    authorization: str = ""


class Asked(NamedTuple):
    """Who asks for what."""

    user: User
    shelf: Shelf
    query: Query


async def view(viewer: Viewer, target: str, visitor: Visitor) -> object:
    """The answer to a request below `PREFIX`. Raises `Refusal` and `BadRequest`."""
    path, _, query = target.partition("?")
    parts = [unquote(part, errors="surrogateescape") for part in path.split("/")[2:]]
    user = await _admit(viewer, visitor)
    match parts:
        case ["account"]:
            return Account(user.account, user.name)
        case ["streams", account, name, "messages"]:
            return _messages(_ask(viewer, user, account, name, query))
        case ["streams", account, name, "messages", seq]:
            return _message(_ask(viewer, user, account, name, query), seq)
        case ["buckets", account, name, "keys"]:
            return _keys(_ask(viewer, user, account, f"KV_{name}", query))
    raise Refusal(404, "404 page not found\n")


async def _admit(viewer: Viewer, visitor: Visitor) -> User:
    if not is_local(visitor.host) and (viewer.asks_nobody or not visitor.authorization):
        raise Refusal(
            403,
            "Messages are shown without a password only by address, not by a public name\n",
        )
    user = await viewer.user(credentials(visitor.authorization), visitor.ip)
    if user is None:
        raise Refusal(401, "User, password or token are not right\n")
    return user


def _ask(viewer: Viewer, user: User, account: str, name: str, query: str) -> Asked:
    if account != user.account:
        raise Refusal(403, f"You are in account {user.account}, not in this one\n")
    shelf = viewer.stream(account, name)
    if shelf is None:
        raise Refusal(404, "No such stream\n")
    return Asked(user, shelf, parse_query(query))


# -- pages -----------------------------------------------------------------------------------------


def _messages(asked: Asked) -> Messages:
    _, shelf, query = asked
    pattern = _pattern(query, "subject")
    from_seq = unsigned(query, "from")
    if from_seq:
        found = _upwards(shelf, pattern, from_seq)
    else:
        found = _downwards(shelf, pattern, unsigned(query, "before"))
    return _page(asked, found, lambda message: True, upwards=bool(from_seq))


def _message(asked: Asked, seq: str) -> Shown:
    user, shelf, _ = asked
    number = int(seq) if seq.isascii() and seq.isdecimal() and len(seq) < 20 else 0
    message = shelf.messages.get(number) if 0 < number <= shelf.last_seq else None
    if message is None:
        raise Refusal(404, "No such message\n")
    if not readable(user)(message.subject):
        raise Refusal(403, "You may not subscribe to its subject\n")
    return _show(message, limits.VIEW_PAYLOAD)


def _keys(asked: Asked) -> Messages:
    """A bucket that mirrors another has its subjects: whose name is in the middle does not matter."""
    _, (messages, last_seq), query = asked
    keys = _pattern(query, "filter")
    found = _downwards(asked.shelf, b"$KV.*." + keys if keys else b"", unsigned(query, "before"))
    return _page(asked, found, lambda each: messages.last(each.subject, last_seq) == each.seq)


def _page(
    asked: Asked,
    found: Iterator[MessageView],
    wanted: Callable[[MessageView], bool],
    upwards: bool = False,
) -> Messages:
    """Of those found, the wanted ones that the user may read, as many as fit."""
    shelf, limit = asked.shelf, _limit(asked.query)
    may = readable(asked.user)
    page = Messages(
        first_seq=shelf.messages.first_seq, last_seq=shelf.last_seq, messages=[], hidden=0
    )
    for looked, message in enumerate(found):
        if len(page.messages) == limit or looked == limits.VIEW_SCAN:
            page.next = message.seq if upwards else message.seq + 1
            break
        if not wanted(message):
            continue
        if may(message.subject):
            page.messages.append(_show(message, limits.VIEW_PREVIEW))
        else:
            page.hidden += 1
    return page


# -- arguments -------------------------------------------------------------------------------------


def _limit(query: Query) -> int:
    asked = integer(query, "limit")
    return min(asked, limits.VIEW_PAGE_MAX) if asked > 0 else limits.VIEW_PAGE


def _pattern(query: Query, name: str) -> bytes:
    pattern = query.get(name, "").encode("utf-8", "surrogateescape")
    if pattern and not is_valid(pattern):
        raise BadRequest(f"{name} is not a subject that one could subscribe to\n")
    return pattern


# -- walks -----------------------------------------------------------------------------------------


def _upwards(shelf: Shelf, pattern: bytes, seq: int) -> Iterator[MessageView]:
    while (message := shelf.messages.next(seq, pattern)) and message.seq <= shelf.last_seq:
        yield message
        seq = message.seq + 1


def _downwards(shelf: Shelf, pattern: bytes, before: int) -> Iterator[MessageView]:
    seq = min(before - 1, shelf.last_seq) if before else shelf.last_seq
    while seq > 0 and (seq := shelf.messages.last(pattern, seq)):
        message = shelf.messages.get(seq)
        if message is not None:
            yield message
        seq -= 1


def _show(message: MessageView, most: int) -> Shown:
    found = headers.pairs(message.headers[:most]) if message.headers else []
    return Shown(
        seq=message.seq,
        time=gotext.rfc3339_nano(message.ts),
        subject=gotext.utf8(message.subject),
        size=len(message.data),
        headers=[(gotext.utf8(name), gotext.utf8(value)) for name, value in found],
        data=message.data[:most],
    )
