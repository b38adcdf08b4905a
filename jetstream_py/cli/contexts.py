"""The context files of the nats command: named sets of connection settings, and which one is chosen.

`$XDG_CONFIG_HOME/nats/context/NAME.json` (`~/.config` where it is not set), the name of the chosen one in
`context.txt` beside the folder, the one before it in `previous-context.txt`. Files that the nats command
wrote keep fields that mean nothing here.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Final

from jetstream_py.cli.failure import Failure

Context = dict[str, Any]

TEXTS: Final = (
    "description",
    "url",
    "socks_proxy",
    "token",
    "user",
    "password",
    "creds",
    "nkey",
    "cert",
    "key",
    "ca",
    "nsc",
    "jetstream_domain",
    "jetstream_api_prefix",
    "jetstream_event_prefix",
    "inbox_prefix",
    "user_jwt",
    "user_seed",
    "color_scheme",
)
SECRETS: Final = ("token", "password", "user_jwt", "user_seed")
_NAME = re.compile(r"[^/\\\s]+")


def folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "nats"


def path(name: str) -> Path:
    """Raises `Failure` for a name that would leave the folder."""
    if not _NAME.fullmatch(name) or name in (".", "..") or ".." in name:
        raise Failure(f"{name!r} is no name for a context", "use letters, digits, - and _")
    return folder() / "context" / f"{name}.json"


def names() -> list[str]:
    return sorted(file.stem for file in (folder() / "context").glob("*.json"))


def selected() -> str:
    """The chosen context, or nothing."""
    return _read_name("context.txt")


def previous() -> str:
    return _read_name("previous-context.txt")


def _read_name(file: str) -> str:
    try:
        return (folder() / file).read_text().strip()
    except OSError:
        return ""


def load(name: str) -> Context:
    file = path(name)
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        raise Failure(
            f"there is no context {name!r}", "`jetstream-py context ls` shows those there are"
        ) from None
    except (OSError, ValueError) as error:
        raise Failure(f"context {name!r} cannot be read: {error}", f"look at {file}") from None
    if not isinstance(found, dict):
        raise Failure(f"context {name!r} is no JSON object", f"look at {file}")
    return found


def save(name: str, context: Context) -> Path:
    """Write it with every field the nats command writes; secrets may be in it, so for us alone."""
    file = path(name)
    whole = {**dict.fromkeys(TEXTS, ""), "tls_first": False, **context}
    _write(file, json.dumps(whole, indent=2))
    return file


def select(name: str) -> None:
    """Choose one; an empty name chooses none."""
    if name:
        load(name)
    if before := selected():
        _write(folder() / "previous-context.txt", before)
    if name:
        _write(folder() / "context.txt", name)
    else:
        (folder() / "context.txt").unlink(missing_ok=True)


def remove(name: str) -> None:
    load(name)
    path(name).unlink()


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
    beside.replace(file)
