"""The example project: all of it with our plugin, what needs only a URL with nats-server, too."""

from __future__ import annotations

import shutil

import pytest

from benchmarks import embedded
from tests.docs.snippets import ROOT
from tests.plugin.projects import ASYNCIO, run_project


@pytest.mark.parametrize(
    ("server", "flags", "outcome"),
    [
        ("ours", [], {"passed": 18}),
        ("nats-server", ["-m", "anywhere"], {"passed": 10, "deselected": 8}),
    ],
)
def test_orders(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    flags: list[str],
    outcome: dict[str, int],
) -> None:
    for file in ("orders.py", "test_orders.py", "pytest.ini"):
        shutil.copy(ROOT / "examples" / "orders" / file, pytester.path)
    plugin = embedded.PLUGINS[server]
    result = run_project(pytester, monkeypatch, *ASYNCIO, *flags, plugin=plugin)
    result.assert_outcomes(**outcome)
