"""Requests from JSON, as strict as the server is and in its words.

The structs of `requests` and `types` say what a body may hold; their annotations name the Go types
that error texts speak of. A body may be several values one after the other: each is laid over the
last, as Go's decoder does it.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from jetstream_py.api.errors import E, error
from jetstream_py.api.fields import Choice, Moment, Wire
from jetstream_py.api.times import normal_time
from jetstream_py.gojson.read import Context, Path, Read, keep_null, lay_over, teach, unmarshal
from jetstream_py.gojson.text import JsonError, Node, SyntaxFault, parse, skip_blanks
from jetstream_py.gotext import quote, utf8

W = TypeVar("W", bound=Wire)

_STRING: Final = "string"


def decode_body(body: bytes, kind: type[W], strict: bool = True) -> W:
    """The request in a body. Unless `strict`, fields that nobody knows are passed over."""
    try:
        return _decode_values(body, kind)
    except JsonError as fault:
        if strict:
            raise error(E.INVALID_JSON, err=_with_offset(fault)) from None
    return decode_lenient(body, kind)


def decode_optional(body: bytes, kind: type[W], strict: bool = True) -> W:
    """As `decode_body`; what does not look like an object or an array counts as no body."""
    at = skip_blanks(body, 0)
    if body[at : at + 1] in (b"{", b"["):
        return decode_body(body, kind, strict)
    return kind()


def decode_required(body: bytes, kind: type[W], strict: bool = True) -> W:
    """As `decode_body`; an empty body is a bad request."""
    if is_empty(body):
        raise error(E.BAD_REQUEST)
    return decode_body(body, kind, strict)


def decode_lenient(body: bytes, kind: type[W]) -> W:
    """One value, with fields that nobody knows passed over."""
    try:
        return unmarshal(body, kind)
    except JsonError as fault:
        raise error(E.INVALID_JSON, err=fault) from None


def expect_empty(body: bytes) -> None:
    if not is_empty(body):
        raise error(E.NOT_EMPTY_REQUEST)


def is_empty(body: bytes) -> bool:
    """No byte at all, or an object without a key."""
    if not body:
        return True
    try:
        node = parse(body)
    except JsonError:
        return False
    rest = skip_blanks(body, node.end)
    return node.kind == "object" and not node.pairs and rest == len(body)


def _decode_values(body: bytes, kind: type[W]) -> W:
    context = Context(body, kind, strict=True)
    request = kind()
    at = skip_blanks(body, 0)
    while at < len(body):
        node = parse(body, at)
        request = lay_over(request, node, context)
        at = skip_blanks(body, node.end)
    return request


def _with_offset(fault: JsonError) -> str:
    if not isinstance(fault, SyntaxFault):
        return str(fault)
    return "unexpected EOF" if fault.offset is None else f"{fault} at offset {fault.offset}"


# -- fields that only the API has ---------------------------------------------------------------------


def _read_choice(choice: Choice) -> Read:
    """Words are compared as they are spelled: an escape inside makes another word."""
    spellings = {f'"{word}"'.encode(): word for word in choice.words}
    spellings |= {f'"{word}"'.encode(): choice.words[0] for word in choice.zero}

    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        raw = context.text[node.start : node.end]
        if choice.of_strings and node.kind not in (_STRING, "null"):
            raise context.refuse(node, (), _STRING)
        word = node.value if choice.of_strings else spellings.get(raw)
        if word not in choice.words:
            text = utf8(raw)
            raise JsonError(choice.refusal.replace("{raw}", quote(text)).replace("{text}", text))
        return word

    return read


def _read_moment(moment: Moment) -> Read:
    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != _STRING:
            raise context.refuse(node, path, "time.Time")
        try:
            return normal_time(str(node.value))
        except ValueError as fault:
            raise JsonError(str(fault)) from None

    return keep_null(read)


teach(Choice, _read_choice)
teach(Moment, _read_moment)
