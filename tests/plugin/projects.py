"""Projects whose tests pytest runs inside this process, which saves the start of another.

pytester forgets modules that were first imported while it is there. Others still have parts of them, and the
next import would make a second copy beside: so everything of ours is imported here, before.
"""

from __future__ import annotations

import importlib
import pkgutil

import nats.js.client  # noqa: F401 - the same goes for it
import pytest

import jetstream_py
from jetstream_py import pytest_plugin

for _module in pkgutil.walk_packages(jetstream_py.__path__, "jetstream_py."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

ASYNCIO = ["-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"]


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A project has the plugins that it names, whatever else is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run_project(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    *args: str,
    plugin: str = pytest_plugin.__name__,
) -> pytest.RunResult:
    alone(monkeypatch)
    return pytester.runpytest_inprocess("-p", plugin, "-p", "no:cacheprovider", *args)
