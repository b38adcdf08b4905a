"""Which tests prove which behaviours, by asking pytest without running anything."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import dataclass, field

import pytest

from tests.support.server import ORACLE

MARK = "behaviour"
EXCUSES = ("skip", "xfail")


@dataclass
class Collector:
    """A pytest plugin. `proofs` maps a behaviour to the tests that prove it on jetstream-py."""

    proofs: dict[str, list[str]] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.add(item)

    def add(self, item: pytest.Item) -> None:
        name = item.nodeid.partition("[")[0]
        for mark in item.iter_markers(MARK):
            for behaviour in mark.args:
                self.claims.setdefault(behaviour, name)
                if counts(item) and name not in (proofs := self.proofs.setdefault(behaviour, [])):
                    proofs.append(name)


def counts(item: pytest.Item) -> bool:
    """Whether the test runs on jetstream-py and is expected to pass."""
    callspec = getattr(item, "callspec", None)
    on_oracle_only = callspec is not None and callspec.params.get("kind") == ORACLE
    return not on_oracle_only and not any(item.get_closest_marker(name) for name in EXCUSES)


def collect() -> Collector:
    """All tests of the project; an error of collection is an error here."""
    collector = Collector()
    output = io.StringIO()
    with redirect_stdout(output):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider"], plugins=[collector])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"pytest could not collect the tests:\n{output.getvalue()[-5000:]}")
    return collector
