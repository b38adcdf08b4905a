"""Requests from JSON, as strict as the server is and in its words.

The structs of `requests` and `types` say what a body may hold; their annotations name the Go types
that error texts speak of. A body may be several values one after the other: each is laid over the
last, as Go's decoder does it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from jetstream_py.api.errors import E, error
from jetstream_py.api.fields import Choice, Moment, Number, Wire
from jetstream_py.api.json_text import (
    JsonError,
    Node,
    SyntaxFault,
    parse,
    skip_blanks,
    unexpected,
)
from jetstream_py.api.times import normal_time
from jetstream_py.gotext import quote, utf8

W = TypeVar("W", bound=Wire)
# (context, node, path, what the field holds already) -> what it holds now
Read = Callable[["_Context", Node, "Path", Any], Any]
Path = tuple[str | int, ...]

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
        node = parse(body)
        rest = skip_blanks(body, node.end)
        if rest < len(body):
            raise unexpected(body, rest, "after top-level value")
        return _lay_over(kind(), node, _Context(body, kind, strict=False))
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
    context = _Context(body, kind, strict=True)
    request = kind()
    at = skip_blanks(body, 0)
    while at < len(body):
        node = parse(body, at)
        request = _lay_over(request, node, context)
        at = skip_blanks(body, node.end)
    return request


def _lay_over(request: W, node: Node, context: _Context) -> W:
    if node.kind == "null":
        return request
    changed: W = _read_struct(type(request))(context, node, (), request)
    return changed


def _with_offset(fault: JsonError) -> str:
    if not isinstance(fault, SyntaxFault):
        return str(fault)
    return "unexpected EOF" if fault.offset is None else f"{fault} at offset {fault.offset}"


class _Context:
    """The text that is read, and what its fields are called in complaints."""

    def __init__(self, text: bytes, kind: type[Wire], strict: bool) -> None:
        self.text = text
        self.name = kind.go_name.rpartition(".")[2]
        self.strict = strict

    def refuse(self, node: Node, path: Path, wanted: str, literal: bool = False) -> JsonError:
        got = f"number {node.value}" if literal else node.kind
        if not path:
            return JsonError(f"json: cannot unmarshal {got} into Go value of type {wanted}")
        target = ".".join(map(str, (self.name, *path)))
        if not isinstance(path[-1], int):
            target = f"Go struct field {target}"
        return JsonError(f"json: cannot unmarshal {got} into {target} of type {wanted}")


# -- one reader for each kind of field -------------------------------------------------------------


@cache
def _read_struct(kind: type[Wire]) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    readers = {name: _reader(hints[name]) for name in kind.__struct_fields__}
    folded = {_fold(name): name for name in readers}

    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "object":
            raise context.refuse(node, path, kind.go_name)
        request = kind() if current is None else current
        changes: dict[str, Any] = {}
        for key, value in node.pairs:
            name = key if key in readers else folded.get(_fold(key))
            if name is None:
                if context.strict:
                    raise JsonError(f"json: unknown field {quote(key)}")
                continue
            held = changes[name] if name in changes else getattr(request, name)
            changes[name] = readers[name](context, value, (*path, key), held)
        return msgspec.structs.replace(request, **changes) if changes else request

    return read


def _fold(key: str) -> str:
    folded = key.casefold()
    return folded if len(folded) == len(key) else key


def _reader(hint: Any) -> Read:
    """The reader for an annotation."""
    if get_origin(hint) is Annotated:
        _, detail = get_args(hint)[:2]
        return _DETAILS[type(detail)](detail)
    arguments = get_args(hint)
    if type(None) in arguments:
        (inner,) = (each for each in arguments if each is not type(None))
        return _nullable(_reader(inner), None)
    if get_origin(hint) is tuple:
        return _nullable(_read_list(arguments[0]), ())
    if get_origin(hint) is dict:
        return _nullable(_read_map, {})
    if isinstance(hint, type) and issubclass(hint, Wire):
        return _keep_null(_read_struct(hint))
    return _keep_null(_SCALARS[hint])


def _nullable(read: Read, nothing: Any) -> Read:
    """null takes the value away."""

    def nullable(context: _Context, node: Node, path: Path, current: Any) -> Any:
        return nothing if node.kind == "null" else read(context, node, path, current)

    return nullable


def _keep_null(read: Read) -> Read:
    """null leaves the value as it is."""

    def keep(context: _Context, node: Node, path: Path, current: Any) -> Any:
        return current if node.kind == "null" else read(context, node, path, current)

    return keep


def _scalar(kind: str, name: str) -> Read:
    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != kind:
            raise context.refuse(node, path, name)
        return node.value

    return read


def _read_number(number: Number) -> Read:
    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "number":
            raise context.refuse(node, path, number.name)
        text = str(node.value)
        digits = text.removeprefix("-")
        if not digits.isdigit() or len(digits) > 20 or (text[0] == "-" and number.low == 0):
            raise context.refuse(node, path, number.name, literal=True)
        if not number.low <= (value := int(text)) <= number.high:
            raise context.refuse(node, path, number.name, literal=True)
        return value

    return _keep_null(read)


def _read_choice(choice: Choice) -> Read:
    """Words are compared as they are spelled: an escape inside makes another word."""
    spellings = {f'"{word}"'.encode(): word for word in choice.words}
    spellings |= {f'"{word}"'.encode(): choice.words[0] for word in choice.zero}

    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
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
    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != _STRING:
            raise context.refuse(node, path, "time.Time")
        try:
            return normal_time(str(node.value))
        except ValueError as fault:
            raise JsonError(str(fault)) from None

    return _keep_null(read)


def _read_list(item: Any) -> Read:
    read_item = _reader(item)
    empty, name = _item_type(item)

    def read(context: _Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "array":
            raise context.refuse(node, path, f"[]{name}")
        return tuple(
            read_item(context, each, (*path, i), empty) for i, each in enumerate(node.items)
        )

    return read


def _item_type(item: Any) -> tuple[Any, str]:
    """What a list holds where it was sent null, and what Go calls it."""
    if isinstance(item, type) and issubclass(item, Wire):
        return item(), f"{'*' if item.go_pointer else ''}{item.go_name}"
    if get_origin(item) is Annotated:
        number = get_args(item)[1]
        assert isinstance(number, Number)
        return 0, number.name
    return "", _STRING


def _read_map(context: _Context, node: Node, path: Path, current: Any) -> Any:
    if node.kind != "object":
        raise context.refuse(node, path, "map[string]string")
    held = dict(current)
    for key, value in node.pairs:
        if value.kind not in (_STRING, "null"):
            raise context.refuse(value, (*path, key), _STRING)
        held[key] = value.value or ""
    return held


_SCALARS: Final[dict[Any, Read]] = {
    str: _scalar(_STRING, _STRING),
    bool: _scalar("bool", "bool"),
}
_DETAILS: Final[dict[type, Callable[[Any], Read]]] = {
    Number: _read_number,
    Choice: _read_choice,
    Moment: _read_moment,
}
