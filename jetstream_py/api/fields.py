"""The kinds of fields that only the JSON of the API has, besides those of any JSON."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from jetstream_py.gojson.fields import Wire as Wire
from jetstream_py.gojson.fields import always as always
from jetstream_py.gojson.fields import duration as duration
from jetstream_py.gojson.fields import int32 as int32
from jetstream_py.gojson.fields import int64 as int64
from jetstream_py.gojson.fields import int_ as int_
from jetstream_py.gojson.fields import uint64 as uint64


class Choice(NamedTuple):
    """A set of words; `refusal` is the text for anything else.

    In it `{text}` stands for the JSON as it came, `{raw}` for the same in quotes.
    """

    words: tuple[str, ...]
    refusal: str = "can not unmarshal {raw}"
    zero: tuple[str, ...] = ()  # other spellings of the first word
    of_strings: bool = False  # JSON that is no string has an error of its own


class Moment(NamedTuple):
    """A time of day in RFC 3339."""


time = Annotated[str, Moment()]  # RFC 3339 text, as the client spelled its zone

Retention = Annotated[
    Literal["limits", "interest", "workqueue"], Choice(("limits", "interest", "workqueue"))
]
Discard = Annotated[Literal["old", "new"], Choice(("old", "new"))]
Storage = Annotated[Literal["file", "memory"], Choice(("file", "memory"))]
Persist = Annotated[Literal["default", "async"], Choice(("default", "async"), zero=("",))]
Compression = Annotated[
    Literal["none", "s2"],
    Choice(("none", "s2"), "unknown compression algorithm", of_strings=True),
]
