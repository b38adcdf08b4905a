"""The tables themselves: complete, without contradictions, and printed in the documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from jetstream_py.config import docs
from jetstream_py.config.accounts import (
    ACCOUNT_JETSTREAM_KEYS,
    ACCOUNT_KEYS,
    ACCOUNT_LIMIT_KEYS,
    TRACE_KEYS,
)
from jetstream_py.config.authorization import AUTHORIZATION_KEYS, CALLOUT_KEYS
from jetstream_py.config.exchange import EXPORT_KEYS, IMPORT_KEYS, ORIGIN_KEYS
from jetstream_py.config.jetstream import JETSTREAM_KEYS, LIMIT_KEYS
from jetstream_py.config.options import Options
from jetstream_py.config.permissions import PERMISSION_KEYS, RESPONSE_KEYS, SUBSCRIBE_KEYS
from jetstream_py.config.reload import get
from jetstream_py.config.schema import KEYS
from jetstream_py.config.tables import Table
from jetstream_py.config.tls import TLS_KEYS
from jetstream_py.config.tls_names import CURVES, INSECURE_SUITES, SUITES, tls_help
from jetstream_py.config.users import USER_KEYS
from jetstream_py.config.websocket import WEBSOCKET_KEYS, WEBSOCKET_LOGIN_KEYS
from tests.config.helper import ORACLE, oracle

OWN = {"http_gateway"}  # what only this server has

TABLES = {
    "": KEYS,
    "authorization": AUTHORIZATION_KEYS,
    "authorization users[]": USER_KEYS,
    "authorization users[] permissions": PERMISSION_KEYS,
    "authorization users[] permissions subscribe": SUBSCRIBE_KEYS,
    "authorization users[] permissions allow_responses": RESPONSE_KEYS,
    "authorization auth_callout": CALLOUT_KEYS,
    "accounts A": ACCOUNT_KEYS,
    "accounts A exports[]": EXPORT_KEYS,
    "accounts A imports[]": IMPORT_KEYS,
    "accounts A imports[] stream": ORIGIN_KEYS,
    "accounts A jetstream": ACCOUNT_JETSTREAM_KEYS,
    "accounts A limits": ACCOUNT_LIMIT_KEYS,
    "accounts A msg_trace": TRACE_KEYS,
    "tls": TLS_KEYS,
    "websocket": WEBSOCKET_KEYS,
    "websocket authorization": WEBSOCKET_LOGIN_KEYS,
    "jetstream": JETSTREAM_KEYS,
    "jetstream limits": LIMIT_KEYS,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_names_are_unique(table: Table) -> None:
    rows = list(dict.fromkeys(table.values()))
    assert len(table) == sum(len(row.names) for row in rows)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_set_options_that_exist(table: Table) -> None:
    for row in table.values():
        assert row.note
        for path in row.sets:
            get(Options(), path)


@pytest.mark.behaviour("CONF-008")
@pytest.mark.parametrize("path", TABLES)
def test_the_oracle_knows_every_key(path: str, tmp_path: Path) -> None:
    """Its complaints are about the values of our keys, and only of `zzz` it has never heard."""
    # A top-level key of the wrong type does not keep the oracle from looking at the next one;
    # inside a block it does.
    own = [name for name in TABLES[path] if name not in _OURS]
    groups = [[name] for name in own] if path else [_TOP_LEVEL]
    for names in groups:
        text = "".join(f"{name}: [[]]\n" for name in names)
        for block in reversed(path.split()):
            name, is_array, _ = block.partition("[]")
            text = f"{name}: [{{\n{text}}}]\n" if is_array else f"{name} {{\n{text}}}\n"
        (tmp_path / "server.conf").write_text("zzz: 1\n" + text)
        lines = oracle(["-t", "-c", "server.conf"], tmp_path, {}).lines
        unknown = [line for line in lines if "nknown field" in line]
        assert unknown == ['server.conf:1:0: unknown field "zzz"']


_OURS = ("preview_api",)  # of docs/extensions.md
# The system account is looked for before anything else, and an error there ends the search.
_TOP_LEVEL = [name for name in KEYS if name not in {"system_account", "system", *OWN}]


def test_the_page_is_up_to_date() -> None:
    """When this fails: python -m jetstream_py.config.docs"""
    assert Path(docs.PAGE).read_text(encoding="utf-8") == docs.page()


def test_import_is_light() -> None:
    """Start-up time is a promise: what is slow to import must not come with this package."""
    code = "import sys, msgspec; before = set(sys.modules); import jetstream_py.config;"
    code += "print(*set(sys.modules) - before)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {
        "argparse",
        "dataclasses",
        "pathlib",
        "logging",
        "json",
        "hashlib",
        "asyncio",
        "socket",
    }
    assert not heavy & set(result.stdout.split())


def test_names_of_tls_are_those_of_the_oracle() -> None:
    result = subprocess.run([ORACLE, "--help_tls"], capture_output=True, text=True, check=True)
    suites, _, rest = result.stdout.partition("Available cipher suites")[2].partition("Available")
    assert set(re.findall(r"TLS_\w+", suites)) == SUITES | INSECURE_SUITES
    assert set(re.findall(r"^    (\w+)$", rest.partition("For client")[0], re.M)) == CURVES
    for name in SUITES | INSECURE_SUITES | CURVES:
        assert f"    {name}\n" in tls_help()
