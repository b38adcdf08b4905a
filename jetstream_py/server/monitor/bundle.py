"""The page for people: a template and the files beside it in `site`, all from this package.

Nothing comes from elsewhere, and the browser is told so: the policy below lets the page load its own
files and talk to this server, no more. So a subject or a payload that holds a script stays a text,
even if the page had a mistake.
"""

from __future__ import annotations

import html
import string
from collections.abc import Mapping
from importlib.resources import files
from typing import Final, NamedTuple

from jetstream_py.version import NATS_VERSION, __version__

PREFIX: Final = "/site/"
POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # after an upgrade the page and its scripts must be of one version
}
_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class File(NamedTuple):
    content_type: str
    body: bytes


def _load() -> tuple[string.Template, dict[str, File]]:
    site = files(__package__) / "site"
    found = {
        PREFIX + each.name: File(_TYPES[kind], each.read_bytes())
        for each in site.iterdir()
        if (kind := each.name.rpartition(".")[2]) in _TYPES
    }
    return string.Template((site / "index.html").read_text("utf-8")), found


_INDEX, FILES = _load()


def index(base: str, server_name: str, links: Mapping[str, str]) -> bytes:
    """The page. `links` are paths and titles; they work without scripts, too."""
    base = html.escape(base)
    items = "\n".join(
        f'<li><a href="{base}{path}">{html.escape(title)}</a> <code>{path}</code></li>'
        for path, title in links.items()
    )
    return _INDEX.substitute(
        base=base,
        name=html.escape(server_name),
        version=__version__,
        nats_version=NATS_VERSION,
        links=items,
    ).encode()
