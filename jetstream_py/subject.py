"""Subjects: dot-separated tokens; `*` stands for one token, a final `>` for one or more."""

from __future__ import annotations

import re

# A token is one or more bytes other than the separator and white space.
_SUBSCRIBE = re.compile(rb"(?:[^. \t\r\n]+\.)*[^. \t\r\n]+\Z")
_WILD_TOKEN = re.compile(rb"(?:^|\.)[*>](?:\.|\Z)")


def is_valid(subject: bytes) -> bool:
    """May a client subscribe to it? No empty token, no white space, `>` only at the end."""
    if not _SUBSCRIBE.match(subject):
        return False
    at = subject.find(b">")
    while at >= 0:
        alone = at == 0 or subject[at - 1] == 46
        if alone and subject[at + 1 : at + 2] == b".":
            return False
        at = subject.find(b">", at + 1)
    return True


def is_literal(subject: bytes) -> bool:
    """True when no token is a wildcard (`a.*b` is literal)."""
    if b"*" not in subject and b">" not in subject:
        return True
    return _WILD_TOKEN.search(subject) is None


def is_valid_literal(subject: bytes) -> bool:
    """May a pedantic client publish to it? (A CR may be part of it, unlike in a subscription.)"""
    return b"" not in subject.split(b".") and is_literal(subject)


def matches(subject: bytes, pattern: bytes) -> bool:
    """Does the literal `subject` fall under `pattern`? The judge that tests hold the trie against."""
    tokens = subject.split(b".")
    wanted = pattern.split(b".")
    for i, want in enumerate(wanted):
        if want == b">" and i == len(wanted) - 1:
            return len(tokens) > i
        if i >= len(tokens) or (want != b"*" and want != tokens[i]):
            return False
    return len(tokens) == len(wanted)


def covers(wide: bytes, narrow: bytes) -> bool:
    """Does everything under the pattern `narrow` fall under `wide`?"""
    wanted, tokens = wide.split(b"."), narrow.split(b".")
    for i, want in enumerate(wanted):
        if want == b">":
            return len(tokens) > i
        if i >= len(tokens) or tokens[i] == b">" or (want != b"*" and want != tokens[i]):
            return False
    return len(tokens) == len(wanted)


def overlap(one: bytes, other: bytes) -> bool:
    """Is there a subject that falls under both patterns?"""
    left, right = one.split(b"."), other.split(b".")
    for a, b in zip(left, right, strict=False):
        if a == b">" or b == b">":
            return True
        if a != b and a != b"*" and b != b"*":
            return False
    return len(left) == len(right)


def intersection(one: bytes, other: bytes) -> bytes | None:
    """The pattern of what falls under both patterns; None when nothing does."""
    left, right = one.split(b"."), other.split(b".")
    common: list[bytes] = []
    for i in range(max(len(left), len(right))):
        if i >= len(left) or i >= len(right):
            return None
        a, b = left[i], right[i]
        if a == b">":
            return b".".join(common + right[i:])
        if b == b">":
            return b".".join(common + left[i:])
        if a != b and a != b"*" and b != b"*":
            return None
        common.append(b if a == b"*" else a)
    return b".".join(common)
