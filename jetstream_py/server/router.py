"""From a subject to its receivers, without asking the trie twice.

Theory of operation. Four caches stand in front of the sublist, each bounded:

* lines: the whole control line of a publish (`PUB orders.new 128`) -> a ready `Pub`, with the start of
  every outgoing message already rendered. The hot path is one dict lookup. The caller keeps lines
  out that will not come again: those with a reply, and those addressed to an inbox.
* routes: literal subject -> `Route`.
* prefixes: all tokens but the last -> `Route`, for subjects whose last token makes no difference
  (see `sublist`): reply inboxes.
* tails: the first tokens -> `Route`, for all subjects that go on after them: telemetry under one `>`.

Invariant: whatever a cache holds is what the trie would answer now. A change of the subscriptions
kills every route that it can affect, and a killed route takes its lines along. A literal pattern can
affect its own subject, the prefix above it and the tails on its way; a wildcard pattern those tails
and everything below its literal first tokens, found through an index by the first two tokens. A kill
costs no more than it took to make what is killed, so churn costs a constant factor, never a scan.

When a cache is full everything goes and is made again as needed: a flood of ever new subjects costs
time, not memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import ClassVar

from jetstream_py import limits
from jetstream_py.config.account_options import Permissions
from jetstream_py.server.permissions import Rights
from jetstream_py.server.proto import ACK, RESERVED_TOKENS
from jetstream_py.server.sublist import Sub, Sublist

Head = tuple[Sub, bytes]
Lines = dict[bytes, "Pub"]

WILD = (b"*", b">")
_NO_TAIL = b"\n"  # no subject begins with it


class Route:
    """The receivers of a subject (or of all subjects below a prefix)."""

    __slots__ = (
        "collector",
        "groups",
        "guarded",
        "handler",
        "headers",
        "key",
        "lines",
        "plain",
        "series",
        "simple",
    )

    def __init__(
        self, key: bytes, plain: tuple[Sub, ...], groups: tuple[tuple[Sub, ...], ...]
    ) -> None:
        self.key = key
        self.plain = plain
        self.groups = groups
        self.guarded = key.startswith(RESERVED_TOKENS)  # the server's own subjects: look twice
        self.simple = True  # whoever is chosen takes every message
        self.headers = True  # ... and understands headers
        for sub in chain(plain, *groups):
            session = sub.session
            if sub.max or sub.filter or sub.via or not session.plain_delivery:
                self.simple = False
            if not session.headers:
                self.headers = False
        # The one receiver there is is a part of the server: the ready-made way to streams and API.
        only = plain[0] if len(plain) == 1 and not groups and plain[0].via is None else None
        self.collector = only.collector if only else None
        self.handler = only.handler if only else None
        self.series = only.series if only else None
        self.lines: list[tuple[Lines, bytes]] = []


class Pub:
    """A publish, parsed: everything but the payload. What a receiver gets is `lead`, its sid, `tail`."""

    __slots__ = (
        "cut",
        "fan",
        "guarded",
        "hdr",
        "lead",
        "origin",
        "reply",
        "route",
        "size",
        "subject",
        "tail",
    )

    kept: ClassVar[bool] = False  # the subject is not the one it is routed by, and stays what it is
    route: Route  # set once the publish passed its checks

    def __init__(self, subject: bytes, reply: bytes, hdr: int, size: int, sizes: bytes) -> None:
        self.subject = subject
        self.reply = reply
        self.hdr = hdr  # bytes of headers, -1: a PUB
        self.size = size  # headers and payload
        self.cut = size + 1  # with the CR that follows it
        self.guarded = False  # touches a reserved name: look twice
        self.origin = b""  # the subject that a mapping replaced
        self.fan: tuple[Head, ...] | None = None  # ready deliveries, when the route is simple
        self.lead = b"%b %b " % (b"MSG" if hdr < 0 else b"HMSG", subject)
        # Sizes as the client wrote them: subscribers see the same digits.
        self.tail = b" %b %b\r" % (reply, sizes) if reply else b" %b\r" % sizes

    def renamed(self, subject: bytes) -> Pub:
        """The same publish to another subject."""
        copy = Pub(subject, self.reply, self.hdr, self.size, b"")
        copy.tail = self.tail
        copy.guarded = self.guarded
        return copy

    def head(self, sub: Sub) -> bytes:
        """The first line of the message that `sub` gets, without its LF."""
        if self.hdr < 0 or sub.session.headers:
            return self.lead + sub.sid + self.tail
        plain = Pub(self.subject, self.reply, -1, 0, b"%d" % (self.size - self.hdr))
        return plain.head(sub)  # without the headers


class Kept(Pub):
    """A message of a stream on its way to a consumer's inbox."""

    __slots__ = ()
    kept: ClassVar[bool] = True


class Router:
    """The subscriptions of one account, with the caches in front of them."""

    def __init__(self, use_caches: bool = True) -> None:
        self.sublist = Sublist()
        self.resolved = 0  # questions that the trie had to answer
        self.lines: Lines = {}
        self._lines_by_rights: dict[Permissions, Lines] = {}
        self._use_caches = use_caches
        self._weight = 0  # of all lines: one each, and one for each rendered head
        self._routes: dict[bytes, Route] = {}
        self._prefixes: dict[bytes, Route] = {}
        self._tails: dict[bytes, Route] = {}
        self._index: dict[bytes, dict[bytes, list[Route]]] = {}
        self._count = 0  # routes in the index
        self.watchers: dict[bytes, list[Callable[[], None]]] = {}
        self._recent = (
            _NO_TAIL  # the tail that was asked for last, with its dot: likely the next, too
        )
        self._recent_route = Route(b"", (), ())

    # -- changes ----------------------------------------------------------------------------------

    def subscribe(self, sub: Sub) -> None:
        self.sublist.insert(sub)
        self._changed(sub.subject)

    def unsubscribe(self, sub: Sub) -> None:
        self.sublist.remove(sub)
        self._changed(sub.subject)

    def _changed(self, pattern: bytes) -> None:
        self.invalidate(pattern)
        for tell in list(self.watchers.get(pattern, ())):
            tell()

    def invalidate(self, pattern: bytes) -> None:
        """Forget every route that a subscription to `pattern` can change."""
        self._recent = _NO_TAIL
        tokens = pattern.split(b".")
        literal = next((i for i, token in enumerate(tokens) if token in WILD), len(tokens))
        if literal == 0:
            return self.forget_all()
        for n in range(1, literal + 1):
            self._kill_one(self._tails, b".".join(tokens[:n]))
        if literal == len(tokens):
            self._kill_one(self._routes, pattern)
            self._kill_one(self._prefixes, b".".join(tokens[:-1]))
        elif literal == 1:
            for routes in self._index.pop(tokens[0], {}).values():
                self._kill(routes)
        else:
            self._kill(self._index.get(tokens[0], {}).pop(tokens[1], []))
        return None

    def forget_all(self) -> None:
        for cache in (self._routes, self._prefixes, self._tails, self._index):
            cache.clear()
        self.lines.clear()
        for lines in self._lines_by_rights.values():
            lines.clear()
        self._recent = _NO_TAIL
        self._weight = self._count = 0

    def _kill_one(self, cache: dict[bytes, Route], key: bytes) -> None:
        route = cache.pop(key, None)
        if route is not None:
            # The index keeps the dead route until its bucket goes: to look for it would be a scan.
            self._drop_lines(route)

    def _kill(self, routes: list[Route]) -> None:
        self._count -= len(routes)
        for route in routes:
            for cache in (self._routes, self._prefixes, self._tails):
                if cache.get(route.key) is route:
                    del cache[route.key]
            self._drop_lines(route)

    def _drop_lines(self, route: Route) -> None:
        for lines, line in route.lines:
            pub = lines.get(line)
            if pub is not None and pub.route is route:
                del lines[line]
                self._weight -= 1 + len(pub.fan or ())
        route.lines.clear()

    def cached(self) -> list[Route]:
        """The routes that are ready now, for monitoring."""
        return [*self._routes.values(), *self._prefixes.values(), *self._tails.values()]

    # -- questions --------------------------------------------------------------------------------

    def route(self, subject: bytes) -> Route:
        """The receivers of a literal subject, now."""
        route = self._routes.get(subject)
        if route is not None:
            return route
        if subject.startswith(self._recent) and b".." not in subject and subject[-1:] != b".":
            return self._recent_route
        cut = subject.rfind(b".")
        if 0 < cut < len(subject) - 1:  # an empty last token reaches nobody, whatever is above it
            route = self._prefixes.get(subject[:cut])
            if route is not None:
                return route
            if self._tails and (route := self._tail(subject, cut)) is not None:
                return route
        return self._resolve(subject)

    def inbox_route(self, subject: bytes) -> Route:
        """The same for a subject that is used once: its prefix is the likelier place."""
        return self._prefixes.get(subject[: subject.rfind(b".")]) or self.route(subject)

    def shared_route(self, subjects: Sequence[bytes]) -> Route | None:
        """The one route of all these subjects; None: they have several, or it is not easy to tell.

        Whatever lies between two words in the alphabet shares the start that these two share."""
        low, high = min(subjects), max(subjects)
        route = self.ack_route(low) if low[:8] == ACK else self.inbox_route(low)
        if low == high:
            return route
        if route.key == low or not high.startswith(route.key + b"."):
            return None
        text = b" ".join(subjects) + b" "
        if b".." in text or b". " in text:
            return None  # an empty token reaches nobody
        if self._tails.get(route.key) is route:
            return route
        one_more = text.count(b".") == len(subjects) * (route.key.count(b".") + 1)
        return route if one_more else None

    def ack_route(self, subject: bytes) -> Route:
        """The same for a consumer's ack, `$JS.ACK.<stream>.<consumer>.` and five numbers: a subject that
        is used once, under a tail of four tokens."""
        route = self._tails.get(subject.rsplit(b".", 5)[0])
        if route is None or b".." in subject or subject[-1:] == b".":
            return self.route(subject)
        return route

    def _tail(self, subject: bytes, cut: int) -> Route | None:
        """Shortest first: the wider a tail is, the more subjects it serves."""
        tails = self._tails
        at = subject.find(b".")
        while at <= cut:
            route = tails.get(subject[:at])
            if route is not None:
                # Empty tokens further on reach nobody; they are too rare to have a place of their own.
                if b".." in subject:
                    return None
                self._recent, self._recent_route = route.key + b".", route
                return route
            if at == cut:
                break
            at = subject.find(b".", at + 1)
        return None

    def _resolve(self, subject: bytes) -> Route:
        self.resolved += 1
        plain, groups, depth, any_last_token = self.sublist.match(subject)
        if self._count >= limits.ROUTE_CACHE:
            self.forget_all()
        cache, key = self._routes, subject
        if depth:
            cache, key = self._tails, b".".join(subject.split(b".", depth)[:depth])
        elif any_last_token:
            cache, key = self._prefixes, subject[: subject.rfind(b".")]
        route = Route(key, plain, groups)
        if self._use_caches:
            cache[key] = route
            first, _, rest = key.partition(b".")
            second = rest.partition(b".")[0]
            self._index.setdefault(first, {}).setdefault(second, []).append(route)
            self._count += 1
        return route

    def lines_for(self, rights: Rights | None) -> Lines:
        """The lines that clients with these rights may use: those who may not publish everything have
        their own, where only what passed their check is kept."""
        if rights is None or rights.publish is None:
            return self.lines
        by_rights = self._lines_by_rights
        lines = by_rights.get(rights.given)
        if lines is None:
            if len(by_rights) >= limits.RIGHTS:
                return {}  # so many kinds of users: these do without
            lines = by_rights[rights.given] = {}
        return lines

    def remember(self, line: bytes, pub: Pub, known: Lines) -> None:
        """Keep a parsed publish under its control line among the `known`, because it may come again."""
        if not self._use_caches or len(line) > limits.LINE_CACHE_LEN:
            return
        route = pub.route
        if route.simple and not route.groups and (pub.hdr < 0 or route.headers):
            pub.fan = tuple([(sub, pub.head(sub)) for sub in route.plain])
        self._weight += 1 + len(pub.fan or ())
        if self._weight > limits.LINE_CACHE:
            self.forget_all()
            return
        known[line] = pub
        route.lines.append((known, line))
