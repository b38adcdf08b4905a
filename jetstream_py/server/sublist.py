"""Who is subscribed to what: a trie over tokens.

Promise: `match(subject)` returns every plain subscription and every queue group whose pattern covers
the subject, at a cost that depends on the number of tokens and of matching branches, not on the number
of subscriptions. Patterns with the same tokens share nodes; `*` and `>` are fields of a node, not keys,
so a publish to a subject that literally contains `*` is just another token.

A match walks the trie level by level. That also answers a second question for free: for which other
subjects is the result the same?

* If no node reached at the last level has literal children, any last token will do. Reply inboxes
  (`_INBOX.<id>.<anything>` under a subscription `_INBOX.<id>.*`) are of that kind.
* If the walk ends early, because below the tokens seen so far there is nothing but `>`, then every
  subject that goes on after those tokens will do: all of `sensors.>`, or all of a subject space that
  nobody listens to.

The router keeps one route for all such subjects instead of one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from jetstream_py.server.collect import Collector
    from jetstream_py.server.permissions import Filter
    from jetstream_py.server.session import Session
    from jetstream_py.transforms.rename import Rename


class Sub:
    """One subscription of one connection, or of a part of the server (then it has a handler or a
    collector)."""

    __slots__ = (
        "collector",
        "filter",
        "handler",
        "max",
        "msgs",
        "out",
        "queue",
        "series",
        "session",
        "sid",
        "subject",
        "via",
    )

    def __init__(self, session: Session, subject: bytes, queue: bytes, sid: bytes) -> None:
        self.handler: Handler | None = None
        self.collector: Collector | None = None
        self.series: Series | None = None  # the handler takes some of its requests by the read, too
        self.session = session
        self.subject = subject
        self.queue = queue  # b"" : a plain subscription
        self.sid = sid
        self.msgs = 0
        self.max = 0  # 0: until UNSUB
        self.filter: Filter | None = None  # subjects that it must not be given
        self.via: Via | None = None  # it stands for a subscription of another account
        self.out = session.out  # the list that deliveries are appended to


class Series(Protocol):
    """A second way to a handler, for requests under a prefix that come many at once."""

    @property
    def prefix(self) -> bytes: ...

    @property
    def take(self) -> Callable[[Sequence[bytes], Sequence[bytes], Sequence[bytes]], bool]:
        """Gets subjects, replies and payloads. False: they are left to the handler."""
        ...


class Via(NamedTuple):
    """How a message for a shadow gets to the subscription that casts it (see `accounts`)."""

    sub: Sub
    rename: Rename
    account: str  # the importer
    traced: bool  # may reports on messages cross, too?


# subject, reply, header block, payload, and the client that published (None: the server itself).
# False: it did not reach anybody after all.
Handler = Callable[[bytes, bytes, bytes, bytes, "Session | None"], "bool | None"]


class Match(NamedTuple):
    """The receivers of a subject."""

    plain: tuple[Sub, ...]
    groups: tuple[tuple[Sub, ...], ...]
    depth: int = 0  # > 0: the same for every longer subject with the same first `depth` tokens
    any_last_token: bool = False  # the same for every subject that differs in the last token only


NO_MATCH = Match((), ())


# Most nodes have one kind of content: the others share these, which are never written to.
_NO_CHILDREN: dict[bytes, _Node] = {}
_NO_SUBS: dict[Sub, None] = {}
_NO_GROUPS: dict[bytes, dict[Sub, None]] = {}


class _Node:
    __slots__ = ("children", "full", "groups", "plain", "star")

    def __init__(self) -> None:
        self.children = _NO_CHILDREN
        self.star: _Node | None = None
        self.full: _Node | None = None  # `>`: its children are never used
        self.plain = _NO_SUBS
        self.groups = _NO_GROUPS

    def add(self, sub: Sub) -> None:
        if sub.queue:
            if self.groups is _NO_GROUPS:
                self.groups = {}
            self.groups.setdefault(sub.queue, {})[sub] = None
        else:
            if self.plain is _NO_SUBS:
                self.plain = {}
            self.plain[sub] = None

    def idle(self) -> bool:
        return not (self.plain or self.groups or self.children or self.star or self.full)


class Sublist:
    """The subscriptions of one account."""

    def __init__(self) -> None:
        self._root = _Node()
        self.count = 0
        self.inserts = 0
        self.removes = 0

    def insert(self, sub: Sub) -> None:
        node = self._root
        for token in sub.subject.split(b"."):
            node = _descend(node, token)
        node.add(sub)
        self.count += 1
        self.inserts += 1

    def remove(self, sub: Sub) -> None:
        """Take a subscription out and prune the branch that nobody needs any more."""
        path = [self._root]
        tokens = sub.subject.split(b".")
        for token in tokens:
            child = _child(path[-1], token)
            if child is None:
                return
            path.append(child)
        leaf = path[-1]
        if sub.queue:
            members = leaf.groups.get(sub.queue, {})
            if members.pop(sub, sub) is sub:
                return
            if not members:
                del leaf.groups[sub.queue]
        elif leaf.plain.pop(sub, sub) is sub:
            return
        self.count -= 1
        self.removes += 1
        for i in range(len(tokens), 0, -1):
            if not path[i].idle():
                break
            _unlink(path[i - 1], tokens[i - 1])

    def match(self, subject: bytes) -> Match:
        tokens = subject.split(b".")
        if b"" in tokens:
            return NO_MATCH  # a subject with an empty token reaches nobody
        last = len(tokens) - 1
        hits: list[_Node] = []
        level = [self._root]
        for i in range(last):
            token = tokens[i]
            below: list[_Node] = []
            for node in level:
                if node.full is not None:
                    hits.append(node.full)
                if node.star is not None:
                    below.append(node.star)
                child = node.children.get(token)
                if child is not None:
                    below.append(child)
            if not below:
                return _collect(hits, depth=max(i, 1) if _only_full(level) else i + 1)
            level = below
        token = tokens[last]
        for node in level:
            if node.full is not None:
                hits.append(node.full)
            child = node.children.get(token)
            if child is not None:
                hits.append(child)
            if node.star is not None:
                hits.append(node.star)
        if not last or any(node.children for node in level):
            return _collect(hits)
        return _collect(hits, depth=last if _only_full(level) else 0, any_last_token=True)

    def subscriptions(self) -> Iterator[Sub]:
        """All of them, in no promised order."""
        stack = [self._root]
        while stack:
            node = stack.pop()
            yield from node.plain
            for members in node.groups.values():
                yield from members
            stack.extend(node.children.values())
            stack.extend(branch for branch in (node.star, node.full) if branch is not None)


def _descend(node: _Node, token: bytes) -> _Node:
    child = _child(node, token)
    if child is None:
        child = _Node()
        if token == b"*":
            node.star = child
        elif token == b">":
            node.full = child
        else:
            if node.children is _NO_CHILDREN:
                node.children = {}
            node.children[token] = child
    return child


def _child(node: _Node, token: bytes) -> _Node | None:
    if token == b"*":
        return node.star
    if token == b">":
        return node.full
    return node.children.get(token)


def _unlink(node: _Node, token: bytes) -> None:
    if token == b"*":
        node.star = None
    elif token == b">":
        node.full = None
    else:
        del node.children[token]


def _only_full(level: list[_Node]) -> bool:
    """Is there nothing below these nodes but `>`?"""
    return not any(node.children or node.star for node in level)


def _collect(hits: list[_Node], depth: int = 0, any_last_token: bool = False) -> Match:
    plain: list[Sub] = []
    groups: dict[bytes, list[Sub]] = {}
    for node in hits:
        plain.extend(node.plain)
        for name, members in node.groups.items():
            # The same group name under two patterns is one group: one copy for each message.
            groups.setdefault(name, []).extend(members)
    return Match(tuple(plain), tuple(map(tuple, groups.values())), depth, any_last_token)
