"""The page says `yes` only where a test earns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.compat.catalogue import Behaviour, Difference, behaviours, differences
from tests.compat.collect import Collector
from tests.compat.page import AREAS, render

KNOWN = {
    name: Behaviour(name, "core", "2.0", f"what {name} says")
    for name in ("CORE-001", "CORE-002", "CORE-003")
}


@dataclass
class Item:
    """As much of a pytest item as the collector looks at."""

    nodeid: str
    ids: tuple[str, ...]
    kind: str | None = None
    marks: set[str] = field(default_factory=set)

    @property
    def callspec(self) -> SimpleNamespace:
        return SimpleNamespace(params={} if self.kind is None else {"kind": self.kind})

    def iter_markers(self, name: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(args=self.ids)] if name == "behaviour" else []

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None


def collected(*items: Item) -> Collector:
    collector = Collector()
    for item in items:
        collector.add(cast(Any, item))
    return collector


def test_parametrised_test_is_named_once() -> None:
    items = [Item("t.py::test_a[1]", ("CORE-001",)), Item("t.py::test_a[2]", ("CORE-001",))]
    assert collected(*items).proofs == {"CORE-001": ["t.py::test_a"]}


@pytest.mark.parametrize("mark", ["skip", "xfail"])
def test_test_with_an_excuse_proves_nothing(mark: str) -> None:
    collector = collected(Item("t.py::test_a", ("CORE-001",), marks={mark}))
    assert collector.proofs == {}
    assert collector.claims == {"CORE-001": "t.py::test_a"}


def test_passing_on_nats_server_proves_nothing_about_us() -> None:
    assert collected(Item("t.py::test_a[x]", ("CORE-001",), kind="nats-server")).proofs == {}
    ours = collected(Item("t.py::test_a[y]", ("CORE-001",), kind="jetstream-py"))
    assert ours.proofs == {"CORE-001": ["t.py::test_a"]}


def test_page_tells_the_three_states_apart() -> None:
    page = render(
        KNOWN,
        [Difference("CORE-002", "theirs", "ours", "because")],
        {"CORE-001": ["tests/t.py::test_a"], "CORE-002": ["tests/t.py::test_b"]},
    )
    assert "| CORE-001 | 2.0 | what CORE-001 says | yes | [test_a](../tests/t.py) |" in page
    assert "| CORE-002 | 2.0 | what CORE-002 says | different | " in page
    assert "| CORE-003 | 2.0 | what CORE-003 says | not yet |  |" in page
    assert "| Core protocol | 1 | 1 | 1 | 3 |" in page
    assert "| CORE-002 | theirs | ours | because |" in page


def test_the_catalogue_is_whole() -> None:
    known = behaviours()
    assert len(known) == 715
    assert {row.area for row in known.values()} == set(AREAS)
    assert all(row.statement and row.since for row in known.values())
    assert differences(known)
