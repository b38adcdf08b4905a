"""Subjects and patterns: does one match, may two have something in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark_jetstream.limits import SUBJECTS


def matcher(patterns: Sequence[str]) -> Callable[[bytes], bool]:
    """Whether a subject matches any pattern; answers are kept, because subjects come again."""
    split = [pattern.encode().split(b".") for pattern in patterns]
    known: dict[bytes, bool] = {}

    def matches(subject: bytes) -> bool:
        answer = known.get(subject)
        if answer is None:
            if len(known) >= SUBJECTS:
                known.clear()
            tokens = subject.split(b".")
            answer = known[subject] = any(_match(pattern, tokens) for pattern in split)
        return answer

    return matches


def _match(pattern: Sequence[bytes], tokens: Sequence[bytes]) -> bool:
    for i, token in enumerate(pattern):
        if token == b">":
            return len(tokens) > i
        if i >= len(tokens) or token not in (b"*", tokens[i]):
            return False
    return len(pattern) == len(tokens)


def intersection(one: str, other: str) -> str | None:
    """The pattern of all subjects that match both; None when no subject does."""
    left, right = one.split("."), other.split(".")
    found: list[str] = []
    for i in range(max(len(left), len(right))):
        if i < len(left) and left[i] == ">":
            return ".".join(found + right[i:]) if i < len(right) else None
        if i < len(right) and right[i] == ">":
            return ".".join(found + left[i:]) if i < len(left) else None
        if i >= len(left) or i >= len(right):
            return None
        if left[i] == "*":
            found.append(right[i])
        elif right[i] in ("*", left[i]):
            found.append(left[i])
        else:
            return None
    return ".".join(found)


def without_overlap(patterns: Sequence[str]) -> tuple[str, ...]:
    """The same subjects from as few patterns as it takes; servers refuse those that overlap by cover."""
    distinct = list(dict.fromkeys(patterns))
    return tuple(
        one
        for one in distinct
        if not any(one != other and intersection(one, other) == one for other in distinct)
    )


def common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """What is in both lists of patterns, of which an empty one means everything; None for nothing."""
    if not one or not other:
        return without_overlap(one or other)
    both = [both for left in one for right in other if (both := intersection(left, right))]
    return without_overlap(both) or None
