"""A template: a subject space whose streams are made when the first message for them comes.

A stream with a name pattern in its metadata stores nothing. It listens for all streams that it has made: the
tokens of a subject that the pattern names give the stream, and what came in one read is handed over, stream
by stream, as lists. So the streams have no subscriptions of their own, and runs stay runs. A stream that is
not there is made from the template's configuration first, in the same commit as its first message.

Which streams belong to a template stands in their metadata, so a restart needs nothing else. When the
template is deleted they stay and listen for themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from jetstream_py.api.errors import ApiError, E, error, invalid_config
from jetstream_py.api.extensions import (
    TEMPLATE_MAX,
    TEMPLATE_NAME,
    TEMPLATE_OF,
    TemplateRule,
    template_rule,
)
from jetstream_py.api.responses import pub_ack_error
from jetstream_py.gotext import utf8

if TYPE_CHECKING:
    from jetstream_py.engine.jetstream import JetStream
    from jetstream_py.engine.shared import Item, Outcome
    from jetstream_py.engine.stream import Stream


class Template:
    """Takes publishes for the streams of one template."""

    def __init__(self, js: JetStream, stream: Stream) -> None:
        self._js = js
        self._stream = stream

    @property
    def _rule(self) -> TemplateRule:
        rule = template_rule(self._stream.config.metadata)
        assert rule is not None
        return rule

    def publish(self, items: list[Item]) -> None:
        """Messages on the template's subject."""
        rule = self._rule
        names: dict[bytes, str] = {}
        groups: dict[str, list[Item]] = {}
        for item in items:
            name = names.get(item[0])
            if name is None:
                name = names[item[0]] = rule.name(utf8(item[0]).split("."))
            groups.setdefault(name, []).append(item)
        for name, group in groups.items():
            try:
                stream = self._find(rule, name, group[0][0])
            except ApiError as refusal:
                self._refuse(group, refusal)
            else:
                stream.publish(group)

    def publish_traced(self, item: Item, only: bool) -> Outcome | None:
        """One that is traced; nothing is made for one that is only traced."""
        rule = self._rule
        name = rule.name(utf8(item[0]).split("."))
        if only and name not in self._js.streams:
            return None
        try:
            return self._find(rule, name, item[0]).publish_traced(item, only)
        except ApiError as refusal:
            self._refuse([item], refusal)
            return self._stream.config.name, b"", False, refusal.description

    def _refuse(self, items: list[Item], refusal: ApiError) -> None:
        if self._stream.config.no_ack:
            return
        answer = pub_ack_error(self._stream.config.name, refusal)
        for _, reply, _, _ in items:
            if reply:
                self._js.outbox.send(self._js.bus, reply, answer)

    def _find(self, rule: TemplateRule, name: str, subject: bytes) -> Stream:
        """The stream of that name, made now if it is not there."""
        template = self._stream.config
        stream = self._js.streams.get(name)
        if stream is not None:
            if stream.config.metadata.get(TEMPLATE_OF) != template.name:
                raise invalid_config(f"stream '{name}' is not one of template '{template.name}'")
            return stream
        if self._js.made[template.name] >= rule.most:
            raise error(E.MAXIMUM_STREAMS_LIMIT)
        given = utf8(subject).split(".")
        tokens = template.subjects[0].split(".")
        for place in rule.places:
            tokens[place] = given[place]
        own = (TEMPLATE_NAME, TEMPLATE_MAX)
        metadata = {key: value for key, value in template.metadata.items() if key not in own}
        config = replace(
            template,
            name=name,
            subjects=(".".join(tokens),),
            metadata=metadata | {TEMPLATE_OF: template.name},
        )
        return self._js.shared.make_stream(config)
