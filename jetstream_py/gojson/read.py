"""Structs from JSON, in Go's way.

The structs' annotations say what a text may hold and name the Go types that error texts speak of.
Keys match in any case, `null` leaves a plain field as it is, and what is sent twice is laid over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from jetstream_py.gojson.fields import Number, Text, Wire
from jetstream_py.gojson.text import JsonError, Node, parse, skip_blanks, unexpected
from jetstream_py.gotext import quote

W = TypeVar("W", bound=Wire)
# (context, node, path, what the field holds already) -> what it holds now
Read = Callable[["Context", Node, "Path", Any], Any]
Path = tuple[str | int, ...]

_STRING: Final = "string"


def unmarshal(text: bytes, kind: type[W]) -> W:
    """One value; fields that nobody knows are passed over. Raises `JsonError`."""
    node = parse(text)
    rest = skip_blanks(text, node.end)
    if rest < len(text):
        raise unexpected(text, rest, "after top-level value")
    return lay_over(kind(), node, Context(text, kind, strict=False))


def lay_over(request: W, node: Node, context: Context) -> W:
    """The request, changed by what the node says."""
    if node.kind == "null":
        return request
    changed: W = read_struct(type(request))(context, node, (), request)
    return changed


class Context:
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
def read_struct(kind: type[Wire]) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    fields = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    readers = {name: _reader(hints[name]) for name in kind.__struct_fields__}
    folded = {_fold(key): name for key, name in fields.items()}

    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "object":
            raise context.refuse(node, path, kind.go_name)
        request = kind() if current is None else current
        changes: dict[str, Any] = {}
        for key, value in node.pairs:
            name = fields.get(key) or folded.get(_fold(key))
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
        return _nullable(_read_map(arguments[1]), {})
    if isinstance(hint, type) and issubclass(hint, Wire):
        return keep_null(read_struct(hint))
    return keep_null(_SCALARS[hint])


def _nullable(read: Read, nothing: Any) -> Read:
    """null takes the value away."""

    def nullable(context: Context, node: Node, path: Path, current: Any) -> Any:
        return nothing if node.kind == "null" else read(context, node, path, current)

    return nullable


def keep_null(read: Read) -> Read:
    """null leaves the value as it is."""

    def keep(context: Context, node: Node, path: Path, current: Any) -> Any:
        return current if node.kind == "null" else read(context, node, path, current)

    return keep


def _scalar(kind: str, name: str) -> Read:
    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != kind:
            raise context.refuse(node, path, name)
        return node.value

    return read


def _read_number(number: Number) -> Read:
    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "number":
            raise context.refuse(node, path, number.name)
        text = str(node.value)
        digits = text.removeprefix("-")
        if not digits.isdigit() or len(digits) > 20 or (text[0] == "-" and number.low == 0):
            raise context.refuse(node, path, number.name, literal=True)
        if not number.low <= (value := int(text)) <= number.high:
            raise context.refuse(node, path, number.name, literal=True)
        return value

    return keep_null(read)


def _read_list(item: Any) -> Read:
    read_item = _reader(item)
    empty, name = _item_type(item)

    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "array":
            raise context.refuse(node, path, f"[]{name}")
        return tuple(
            read_item(context, each, (*path, i), empty) for i, each in enumerate(node.items)
        )

    return read


def _item_type(item: Any) -> tuple[Any, str]:
    """What a list or a map holds where it was sent null, and what Go calls it."""
    if isinstance(item, type) and issubclass(item, Wire):
        return item(), f"{'*' if item.go_pointer else ''}{item.go_name}"
    if get_origin(item) is Annotated:
        number = get_args(item)[1]
        assert isinstance(number, Number)
        return 0, number.name
    return "", _STRING


def _read_map(item: Any) -> Read:
    read_item = _reader(item)
    empty, name = _item_type(item)

    def read(context: Context, node: Node, path: Path, current: Any) -> Any:
        if node.kind != "object":
            raise context.refuse(node, path, f"map[string]{name}")
        held = dict(current)
        for key, value in node.pairs:
            held[key] = read_item(context, value, (*path, key), empty)
        return held

    return read


_SCALARS: Final[dict[Any, Read]] = {
    str: _scalar(_STRING, _STRING),
    bool: _scalar("bool", "bool"),
}
_DETAILS: Final[dict[type, Callable[[Any], Read]]] = {
    Number: _read_number,
    Text: lambda text: keep_null(_scalar(_STRING, text.name)),
}


def teach(kind: type, reader: Callable[[Any], Read]) -> None:
    """How fields are read whose annotation carries a detail of this kind."""
    _DETAILS[kind] = reader
