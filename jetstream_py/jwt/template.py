"""Permissions of a scope, made for one user.

`{{name()}}`, `{{subject()}}` and their `account-` forms stand for one value, `{{tag(x)}}` and
`{{account-tag(x)}}` for each value of the tags `x:value`; several tags in an entry multiply. An entry
to allow that does not become a subject is left out, so it allows nothing. An entry to deny that does
not become one refuses the user, or it would deny nothing. Slots with the same text get the same value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from math import prod

from jetstream_py import limits
from jetstream_py.config.account_options import AccountOptions, Permissions, Rule
from jetstream_py.jwt.claims import UserClaims
from jetstream_py.subject import is_valid

_SLOT = re.compile(r"\{\{(.*?)\}\}")
_CALL = re.compile(r"\s*(account-)?(name|subject|tag)\(([^()]*)\)\s*\Z", re.IGNORECASE)


class TemplateError(ValueError):
    """The user cannot have what the scope says."""


def fill(
    template: Permissions | None, user: UserClaims, account: AccountOptions
) -> Permissions | None:
    """The permissions with all slots filled, or a `TemplateError`."""
    if template is None:
        return None
    fill_rule = _Filler(user, account).rule
    return Permissions(
        fill_rule(template.publish), fill_rule(template.subscribe), template.responses
    )


class _Filler:
    def __init__(self, user: UserClaims, account: AccountOptions) -> None:
        self._names = {False: user.name, True: account.name_tag}
        self._subjects = {False: user.sub, True: account.name}
        self._tags: dict[bool, Sequence[str]] = {False: user.nats.tags, True: account.tags}

    def rule(self, rule: Rule | None) -> Rule | None:
        if rule is None:
            return None
        allow = None
        if rule.allow is not None:
            allow = tuple(
                text for entry in rule.allow for text in self._fill(entry) if _is_subject(text)
            )
        return Rule(allow, self._denied(rule.deny))

    def _denied(self, entries: tuple[str, ...]) -> tuple[str, ...]:
        if not any(map(_SLOT.search, entries)):
            return entries
        filled: list[str] = []
        for entry in entries:
            texts = self._fill(entry)
            if not texts or not all(map(_is_subject, texts)):
                raise TemplateError(entry)
            filled += texts
        return tuple(filled)

    def _fill(self, entry: str) -> list[str]:
        pieces = _SLOT.split(entry)
        slots = {call: self._values(call) for call in pieces[1::2]}
        if prod(map(len, slots.values())) > limits.TEMPLATE_SUBJECTS:
            raise TemplateError(entry)
        texts = []
        for values in product(*slots.values()):
            value_of = dict(zip(slots, values, strict=True))
            filled = [*pieces]
            filled[1::2] = [value_of[call] for call in pieces[1::2]]
            texts.append("".join(filled))
        return texts

    def _values(self, call: str) -> list[str]:
        match = _CALL.match(call)
        if match is None:
            raise TemplateError(call)
        of_account, name, argument = bool(match[1]), match[2].lower(), match[3].lower()
        if name == "tag":
            start = argument + ":"
            tags = self._tags[of_account]
            return [tag[len(start) :] for tag in tags if tag.startswith(start)]
        if argument:
            raise TemplateError(call)
        return [(self._names if name == "name" else self._subjects)[of_account]]


def _is_subject(text: str) -> bool:
    return is_valid(text.encode("utf-8", "replace"))
