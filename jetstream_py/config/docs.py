"""The page for users, `docs/configuration.md`, with its tables made from the schema.

python -m jetstream_py.config.docs          # write the page
python -m jetstream_py.config.docs --check  # fail when it is out of date
"""

from __future__ import annotations

import os
import sys
from typing import Final

from jetstream_py.config import durations
from jetstream_py.config.accounts import (
    ACCOUNT_JETSTREAM_KEYS,
    ACCOUNT_KEYS,
    ACCOUNT_LIMIT_KEYS,
)
from jetstream_py.config.authorization import AUTHORIZATION_KEYS, CALLOUT_KEYS
from jetstream_py.config.exchange import EXPORT_KEYS, IMPORT_KEYS
from jetstream_py.config.flags import usage
from jetstream_py.config.http_gateway import HTTP_GATEWAY_KEYS
from jetstream_py.config.jetstream import BATCH_KEYS, JETSTREAM_KEYS, LIMIT_KEYS
from jetstream_py.config.mappings import DESTINATION_KEYS
from jetstream_py.config.operators import RESOLVER_KEYS
from jetstream_py.config.options import Options
from jetstream_py.config.permissions import PERMISSION_KEYS
from jetstream_py.config.reload import OPTIONS, get
from jetstream_py.config.schema import KEYS
from jetstream_py.config.tables import Key, Table
from jetstream_py.config.tls import TLS_KEYS
from jetstream_py.config.users import USER_KEYS
from jetstream_py.config.websocket import WEBSOCKET_KEYS

PAGE: Final = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "configuration.md")

_HEAD: Final = """\
# Configuration

<!-- Written by `python -m jetstream_py.config.docs`; edit that module instead. -->

A server takes its options from flags and from a file in the format of nats-server:

    nats-server-py -c server.conf -p 4333
    nats-server-py -t -c server.conf

Flags win over the file. `-t` reads the file, says whether it is valid, and ends. A file that
nats-server accepts is accepted here with the same meaning, or refused with a message that says
which key is missing in this version; nothing that protects a server is ignored in silence.

## The format

    # a comment; // works too
    port: 4222              # key: value
    server_name = east      # key = value
    max_payload 2mb         # key value
    ping_interval: "30s"    # durations are strings

    data: "/var/lib/nats"   # a key of your own is fine as long as something uses it:
    jetstream {
      store_dir: $data
    }

    authorization {
      users = [
        {user: alice, password: $ALICE_PASSWORD}   # from the environment
        {user: bob, password: "no $variable in quotes"}
      ]
    }

    include "limits.conf"   # relative to this file, also inside a block

| element | rule |
|---|---|
| keys | upper and lower case are the same; quotes are allowed |
| end of a value | a new line, `,` or `;` |
| blocks | `key { ... }`; the brace may stand on the next line |
| arrays | `[a, b]`, or one item per line |
| strings | bare words, `'as they are'`, `"with \\n \\t \\r \\" \\\\ \\xHH"` |
| text of several lines | between `(` and a line that is only `)` |
| booleans | `true yes on`, `false no off` |
| sizes | `k m g t p e` are powers of 1000; `kb`, `ki`, `kib` and so on are powers of 1024 |
| variables | `$name` is a key seen before in this or an outer block, else an environment variable |
| passwords | a bcrypt hash, `$2a$...`, is not a variable |
| JSON | is valid too |

A mistake is reported as `file:line:column: text`. Lines count from 1; columns count bytes, from 0
in the first line and from 1 in all others, as nats-server does.

Limits: a file has at most 16 MiB, blocks and includes nest at most 64 deep, and a file cannot
include itself.
"""

_RELOAD: Final = """\
## Reload

`SIGHUP`, or `--signal reload`, reads the file again. Options that are marked with "reload" below
take effect at once. When any other option has changed, the reload is refused as a whole, and the
log names the option. Flags stay what they were.

The files of a `tls` block are read again with every reload. What else the block says may change, too,
except for `verify_and_map` and `connection_rate_limit`; of `websocket`, only its `tls` may. Of an
`authorization` block, `auth_callout` may not. Operators and trusted keys stay; a resolver may change,
but not come or go.
"""

_ACCOUNTS: Final = """\
    accounts {
      ORDERS {
        users = [{user: shop, password: $SHOP_PASSWORD}]
        exports = [{service: "orders.*"}, {stream: "news.>", accounts: [AUDIT]}]
      }
      AUDIT {
        users = [{nkey: UBAAQWTW6CG2G6ANGNKB5U2B7HRWHSGMZEZX3AQSAJOQDAUGJD46LD2E}]
        imports = [{stream: {account: ORDERS, subject: "news.>"}, prefix: orders}]
      }
    }

`accounts: [A, B]` is short for accounts without users. `$G` is the account of users that have no
other; `$SYS` is that of the server, unless `system_account` names another.
"""

_MAPPINGS: Final = """\
    mappings {
      "old.*": "new.$1"
      beta: [{destination: next, weight: 10%}, {destination: now, weight: 90%}]
    }

Functions in destinations are those of stream subject transforms. Each destination:
"""

_DIFFERENCES: Final = """\
## Differences from nats-server

* Keys marked "refused" stop the server: it would be less safe than its owner believes.
* A `tls` block without a certificate stops the server; nats-server would refuse every handshake.
* Names of WebSocket `headers` have to be names of headers.
* A reload that changes `websocket` shows no passwords in the log.
* Values of the wrong type get a message about types instead of a Go runtime error.
* `-t` warns when a file is valid but a server would not start with it.
* `[1]` works; nats-server wants a blank before the bracket.
* A key without a value at the end of a block, an unknown size suffix, a size beyond 64 bits, a file
  that ends inside `{` or a quoted key, and a file that includes itself are errors.
* Negative values of `max_control_line`, `max_pending`, `max_closed_clients`, `ping_max`,
  `ping_interval` and `write_deadline` are refused at start.
"""


def page() -> str:
    parts = [
        _HEAD,
        _RELOAD,
        "## Keys\n",
        _table(KEYS),
        "## `authorization`\n",
        _table(AUTHORIZATION_KEYS),
        "Each entry of `users`:\n",
        _table(USER_KEYS),
        "In `permissions`:\n",
        _table(PERMISSION_KEYS),
        "In `auth_callout`:\n",
        _table(CALLOUT_KEYS),
        "## `accounts`\n",
        _ACCOUNTS,
        _table(ACCOUNT_KEYS),
        "Each entry of `exports`:\n",
        _table(EXPORT_KEYS),
        "Each entry of `imports`:\n",
        _table(IMPORT_KEYS),
        "In its `jetstream`:\n",
        _table(ACCOUNT_JETSTREAM_KEYS),
        "In its `limits`:\n",
        _table(ACCOUNT_LIMIT_KEYS),
        "## `mappings`\n",
        _MAPPINGS,
        _table(DESTINATION_KEYS),
        "## `resolver`\n",
        "`MEMORY` keeps what `resolver_preload` has; `URL(http://...)` asks a server; a block keeps a "
        "directory.\n",
        _table(RESOLVER_KEYS),
        "## `tls`\n",
        _table(TLS_KEYS),
        "## `websocket`\n",
        _table(WEBSOCKET_KEYS),
        "## `http_gateway`\n",
        "`http_gateway: true` is short for an empty block. What it offers is in [http.md](http.md).\n",
        _table(HTTP_GATEWAY_KEYS),
        "## `jetstream`\n",
        "`jetstream: true` and `jetstream: enabled` are short for an empty block.\n",
        _table(JETSTREAM_KEYS),
        "In its block `limits`:\n",
        _table(LIMIT_KEYS),
        "In the block `batch` of `limits`:\n",
        _table(BATCH_KEYS),
        "## Flags\n",
        "    " + usage("nats-server-py").strip().replace("\n", "\n    ") + "\n",
        "Flags for clusters and profiling have no effect.\n",
        _DIFFERENCES,
    ]
    lines = (line.rstrip() for line in "\n".join(parts).splitlines())
    return "\n".join(lines) + "\n"


def _table(keys: Table) -> str:
    rows = ["| key | value | default | reload | |", "|---|---|---|---|---|"]
    for row in dict.fromkeys(keys.values()):
        rows.append(f"| {' | '.join(_cells(row))} |")
    return "\n".join(rows) + "\n"


def _cells(row: Key) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in row.names)
    if row.status == "refused":
        return names, "", "", "", f"**refused**: {row.note}"
    if row.status == "ignored":
        return names, row.kind.label, "", "", f"no effect: {row.note}"
    return names, row.kind.label, _default(row), _reload(row), row.note


# Of these a key sets only a part.
_PARTS: Final = ("authorization", "authorization.users", "http_gateway")


def _default(row: Key) -> str:
    if len(row.sets) != 1 or row.sets[0] in _PARTS:
        return ""
    value = get(Options(), row.sets[0])
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f'"{durations.text(value)}"'
    return str(value) if value else ""


def _reload(row: Key) -> str:
    return "reload" if row.sets and all(map(_can_reload, row.sets)) else ""


def _can_reload(field: str) -> bool:
    """A block can when all of it can."""
    parts = [option for option in OPTIONS if f"{option.field}.".startswith(f"{field}.")]
    return bool(parts) and not any(option.fixed for option in parts)


def main(argv: list[str]) -> int:
    text = page()
    if "--check" in argv:
        with open(PAGE, encoding="utf-8") as stream:
            return 0 if stream.read() == text else 1
    with open(PAGE, "w", encoding="utf-8") as stream:
        stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
