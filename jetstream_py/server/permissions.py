"""What a client may publish and subscribe to.

A `Rule` (see `config.account_options`) is compiled once for each user, into a regular expression for all
subjects it allows and one for those it denies: a question costs one match in C, and the answers for literal
subjects are kept, because clients publish to the same ones again and again.

Deny always wins. A subscription that is wide enough to contain denied subjects is let in, and what it may
not see is held back from each delivery (`SubscribeRule.filter`).

`Grants` are the rights that `allow_responses` gives: to publish to the reply subject of a message that was
delivered to the client, so many times, for so long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from jetstream_py import limits
from jetstream_py.config.account_options import Permissions, Responses, Rule
from jetstream_py.subject import covers, is_literal, matches, overlap

Filter = Callable[[bytes], object]  # true for a subject that must not be delivered

_NOBODY: Final = re.compile(rb"(?!)")


class PublishRule:
    """May this client publish there?"""

    __slots__ = ("_allow", "_deny", "_known", "_patterns")

    def __init__(self, rule: Rule) -> None:
        self._patterns = [subject.encode() for subject in rule.allow or ()]
        self._allow = None if rule.allow is None else _compile(rule.allow)
        self._deny = _compile(rule.deny)
        self._known: dict[bytes, bool] = {}

    def allows(self, subject: bytes) -> bool:
        known = self._known.get(subject)
        if known is None:
            known = self._judge(subject)
            if len(self._known) >= limits.PERMISSION_CACHE:
                self._known.clear()
            self._known[subject] = known
        return known

    def _judge(self, subject: bytes) -> bool:
        if self._deny.match(subject) is not None:
            return False
        if self._allow is None:
            return True
        if subject == b">" or subject.endswith(b".>"):  # no wildcard to us, but let nobody think so
            return any(covers(pattern, subject) for pattern in self._patterns)
        return self._allow.match(subject) is not None


class SubscribeRule:
    """May this client subscribe to that, and what of it may it not see?"""

    __slots__ = ("_allow", "_deny")

    def __init__(self, rule: Rule) -> None:
        self._allow = None if rule.allow is None else [_entry(text) for text in rule.allow]
        self._deny = [_entry(text) for text in rule.deny]

    def allows(self, subject: bytes, queue: bytes) -> bool:
        if b"" in subject.split(b"."):  # no entry speaks of what is no subject
            return self._allow is None
        if self._allow is not None and not self._allowed(self._allow, subject, queue):
            return False
        return not any(
            covers(pattern, subject) and _same_group(group, queue) for pattern, group in self._deny
        )

    @staticmethod
    def _allowed(entries: list[tuple[bytes, bytes]], subject: bytes, queue: bytes) -> bool:
        """An entry that names a group speaks for this group alone; where there is one for a subject,
        members of other groups are not covered by the plain entries any more."""
        found = [group for pattern, group in entries if covers(pattern, subject)]
        groups = [group for group in found if group]
        if queue and groups:
            return any(matches(queue, group) for group in groups)
        return b"" in found

    def filter(self, subject: bytes, queue: bytes) -> Filter | None:
        """What a subscription that was let in must not be given."""
        inside = [
            pattern
            for pattern, group in self._deny
            if _same_group(group, queue) and overlap(pattern, subject)
        ]
        return _compile_bytes(inside).match if inside else None

    def touches(self, subject: bytes) -> bool:
        """Does a wildcard contain something that is denied, to whichever group?"""
        return not is_literal(subject) and any(
            overlap(pattern, subject) for pattern, _ in self._deny
        )

    def denies(self, subject: bytes, queue: bytes) -> bool:
        """For a message of a stream, which keeps its subject wherever it is delivered."""
        return any(
            matches(subject, pattern) and _same_group(group, queue) for pattern, group in self._deny
        )


class Grants:
    """Reply subjects that a client may publish to."""

    __slots__ = ("_expires", "_max", "_used")

    def __init__(self, responses: Responses) -> None:
        self._max = responses.max
        self._expires = responses.expires
        self._used: dict[bytes, tuple[int, float]] = {}  # how often, given when; oldest first

    def give(self, reply: bytes, now: float) -> None:
        """A message with this reply subject was delivered. As nats-server has it, a subject that may
        be published to anyway is not granted again: the look at it is one use."""
        if self.use(reply, now):
            return
        if len(self._used) >= limits.GRANTS:
            self._forget(now)
        self._used[reply] = (0, now)

    def use(self, subject: bytes, now: float) -> bool:
        """The client publishes there: may it?"""
        granted = self._used.get(subject)
        if granted is None:
            return False
        count, since = granted
        if 0 < self._max <= count or 0 < self._expires < now - since:
            del self._used[subject]
            return False
        self._used[subject] = (count + 1, since)
        return True

    def _forget(self, now: float) -> None:
        """Make room: what has expired goes, and if nothing has, the oldest."""
        if self._expires > 0:
            old = [each for each, (_, since) in self._used.items() if now - since > self._expires]
            for reply in old:
                del self._used[reply]
        if len(self._used) >= limits.GRANTS:
            del self._used[next(iter(self._used))]


class Rights:
    """A user's permissions, compiled. Users with the same ones share them, and so the routes that
    passed their check (see `Router.lines_for`)."""

    __slots__ = ("given", "publish", "responses", "subscribe")

    def __init__(self, given: Permissions) -> None:
        self.given = given
        publish = given.publish
        if given.responses is not None and (publish is None or publish.allow is None):
            # Who may answer may do that only.
            publish = Rule(allow=(), deny=publish.deny if publish is not None else ())
        self.publish = None if publish is None else PublishRule(publish)
        self.subscribe = None if given.subscribe is None else SubscribeRule(given.subscribe)
        self.responses = given.responses


def _entry(text: str) -> tuple[bytes, bytes]:
    subject, _, group = text.partition(" ")
    return subject.encode(), group.strip().encode()


def _same_group(group: bytes, queue: bytes) -> bool:
    """Does an entry for `group` ("": any) speak of a subscription in `queue`?"""
    return not group or (bool(queue) and matches(queue, group))


def _compile(subjects: tuple[str, ...]) -> re.Pattern[bytes]:
    return _compile_bytes([subject.encode() for subject in subjects])


def _compile_bytes(subjects: list[bytes]) -> re.Pattern[bytes]:
    if not subjects:
        return _NOBODY
    return re.compile(b"(?:%b)\\Z" % b"|".join(map(_expression, subjects)), re.DOTALL)


def _expression(subject: bytes) -> bytes:
    tokens = subject.split(b".")
    last = len(tokens) - 1
    parts = []
    for i, token in enumerate(tokens):
        if token == b"*":
            parts.append(rb"[^.]+")
        elif token == b">" and i == last:
            parts.append(rb"[^.]+(?:\.[^.]+)*")
        else:
            parts.append(re.escape(token))
    return rb"\.".join(parts)
