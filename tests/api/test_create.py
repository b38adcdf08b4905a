"""STREAM.CREATE: what nats-server refuses and accepts, and what it makes of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Final

import pytest

from jetstream_py.api.decode import decode_body
from jetstream_py.api.requests import StreamConfigRequest
from jetstream_py.api.stream_config import Rules, check_create
from jetstream_py.api.types import StreamConfig
from tests.api.cases_create import ORIGIN, SELF, SINGLE, TOGETHER, VALUES, Config
from tests.api.oracle import Oracle, as_bytes, created

COMBINATIONS: Final = 600
OVERLAP: Final = '"err_code":10065'  # with another stream: not for us to say


def lookup(name: str) -> StreamConfig | None:
    return ORIGIN_CONFIG if name == ORIGIN["name"] else None


ORIGIN_CONFIG = check_create(decode_body(as_bytes(ORIGIN), StreamConfigRequest))
RULES = Rules(lookup=lookup)


@pytest.fixture(scope="session")
def origin(jetstream: Oracle) -> Oracle:
    assert "err_code" not in jetstream.config("CREATE", "ORIGIN", ORIGIN)
    return jetstream


def different(oracle: Oracle, configs: Iterable[Config]) -> list[tuple[str, str, str]]:
    """The configurations that the two do not agree on, with their answers."""
    found = []
    for config in configs:
        name = oracle.fresh_name()
        body = json.dumps({"name": name, **config}).replace(f'"{SELF}"', f'"{name}"')
        theirs = oracle.config("CREATE", name, body)
        ours = created(body, RULES)
        if "err_code" not in theirs:
            oracle.delete(name)
        if ours != theirs and OVERLAP not in theirs:
            found.append((body[:300], theirs, ours))
    return found


def test_each_value(origin: Oracle) -> None:
    assert different(origin, SINGLE) == []


def test_combinations_with_a_rule(origin: Oracle) -> None:
    assert different(origin, TOGETHER) == []


def test_of_several_faults_the_same_one_is_named(origin: Oracle) -> None:
    rng = random.Random(2151)
    fields = list(VALUES)
    configs = (
        {field: rng.choice(VALUES[field]) for field in rng.sample(fields, rng.randint(2, 6))}
        for _ in range(COMBINATIONS)
    )
    assert different(origin, configs) == []


@pytest.mark.parametrize(
    "name", ["x" * 255, "x" * 256, "S$%", "a*b", "a>b", ">", "*", "a/b", "a\\b", "é"]
)
def test_names(jetstream: Oracle, name: str) -> None:
    body = {"name": name, "subjects": ["names"]}
    assert created(body, RULES) == jetstream.config("CREATE", name, body)
    jetstream.delete(name)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"sources": [{"name": "B"}]}, {"sources": [{"name": "A"}]}),
        ({"mirror": {"name": "B"}}, {"sources": [{"name": "A"}]}),
        ({"mirror": {"name": "B", "filter_subject": "x"}}, {"mirror": {"name": "A"}}),
        (
            {"subjects": ["a.>"], "sources": [{"name": "B", "filter_subject": "b.x"}]},
            {"subjects": ["b.>"], "sources": [{"name": "A"}]},
        ),
        (
            {"subjects": ["a.>"], "sources": [{"name": "B", "filter_subject": "a.x"}]},
            {"subjects": ["b.>"], "sources": [{"name": "A"}]},
        ),
        (
            {"subjects": ["a.>"], "sources": [{"name": "B"}]},
            {"subjects": ["b.>"], "sources": [{"name": "A", "filter_subject": "b.x"}]},
        ),
        ({"sources": [{"name": "C"}]}, {"sources": [{"name": "A"}]}),
    ],
)
def test_cycles_through_another_stream(jetstream: Oracle, first: Config, second: Config) -> None:
    a, b = jetstream.fresh_name(), jetstream.fresh_name()
    text = json.dumps({"name": "A", **first}).replace('"A"', f'"{a}"').replace('"B"', f'"{b}"')
    assert "err_code" not in jetstream.config("CREATE", a, text)
    other = check_create(decode_body(text.encode(), StreamConfigRequest))
    rules = Rules(lookup=lambda name: other if name == a else None)
    body = json.dumps({"name": "B", **second}).replace('"A"', f'"{a}"').replace('"B"', f'"{b}"')
    assert created(body, rules) == jetstream.config("CREATE", b, body)
    jetstream.delete(a)
    jetstream.delete(b)
