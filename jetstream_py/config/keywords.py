"""Options as keyword arguments of Python, for embedded servers.

A keyword is a field of `Options` with a value of its type, or a key of the configuration file with a value
as JSON would have it: a block is a dictionary, a duration may be text (`"2s"`), a size is a number. A
configuration file, or its text, comes first; keywords win.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from jetstream_py.config.draft import Draft
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.invocation import Invocation
from jetstream_py.config.options import Options
from jetstream_py.config.settle import complaints, settle

ANY_PORT: Final = -1
_PORTS: Final = ("port", "http_port", "https_port")
_TYPES: Final = {field.name: field.type for field in msgspec.structs.fields(Options)}
# Parts that are put together from several places, and what only a file has.
_NOT_PLAIN: Final = {"authorization", "accounts", "jetstream", "config_file", "config_digest"}
_SOURCE: Final = "keywords"


def from_keywords(
    config: str | os.PathLike[str],
    keywords: Mapping[str, Any],
    environ: Mapping[str, str],
    first: Mapping[str, Any],
) -> Invocation:
    """What a server is to do. `config` is a file, a text, or empty; `first` holds fields of `Options` that
    count unless somebody says otherwise. Raises ConfigError."""
    draft = Draft()
    for name, value in first.items():
        setattr(draft.options, name, value)
    if config:
        _read(draft, *_source(config), environ)
    rest = {name: value for name, value in keywords.items() if not _plain(name, value)}
    if rest:
        _read(draft, _SOURCE, _text(rest), {})
    for name, value in keywords.items():
        if name not in rest:
            _set(draft.options, name, value)
    options = settle(draft)
    options.config_file = options.config_digest = ""  # nothing here can be read again
    for complaint in complaints(draft):
        raise ConfigError(complaint)
    return Invocation("serve", options, draft.warnings)


def _source(config: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Name and bytes. A text has a line end or a bracket in it, or names no file."""
    from jetstream_py.config.files import read_file

    name = os.fspath(config)
    if isinstance(config, str) and ("\n" in name or "{" in name or not Path(name).exists()):
        if not any(char in name for char in "\n{:= "):
            raise ConfigError(f"there is no file {name}")
        return "config", name.encode()
    return name, read_file(name)


def _read(draft: Draft, name: str, text: bytes, environ: Mapping[str, str]) -> None:
    from jetstream_py.config import parser
    from jetstream_py.config.files import read_included
    from jetstream_py.config.schema import read_tree

    read_tree(parser.parse(text, name, read_included, environ), draft)
    draft.refuse_errors(strict=False)


def _text(keywords: Mapping[str, Any]) -> bytes:
    """JSON is a configuration, too."""
    try:
        return msgspec.json.encode(keywords, enc_hook=_path)
    except (TypeError, msgspec.MsgspecError) as error:
        raise ConfigError(f"options: {error}") from None


def _path(value: object) -> str:
    if isinstance(value, os.PathLike):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a value of an option")


def _plain(name: str, value: object) -> bool:
    """Can the field take the value as it is?"""
    if name not in _TYPES or name in _NOT_PLAIN:
        return False
    try:
        msgspec.convert(value, _TYPES[name])
    except msgspec.ValidationError:
        return False
    return True


def _set(options: Options, name: str, value: Any) -> None:
    if name in _PORTS and value == ANY_PORT:
        value = 0
    setattr(options, name, msgspec.convert(value, _TYPES[name]))
