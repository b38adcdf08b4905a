"""CONSUMER.CREATE: what nats-server refuses and accepts, and what it makes of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Final

import pytest

from jetstream_py.api.consumer_config import ConsumerRules
from tests.api.cases_consumer import SINGLE, STREAMS, TOGETHER, VALUES
from tests.api.cases_create import Config
from tests.api.consumers import Consumers, created, new_stream
from tests.api.oracle import Oracle

COMBINATIONS: Final = 300
# What a direct consumer that is a source gets behind its name.
SUFFIX: Final = re.compile(r'("name":"C\d+)-[0-9A-Za-z]{8}')


@pytest.fixture(scope="module", params=STREAMS)
def consumers(request: pytest.FixtureRequest, jetstream: Oracle) -> Consumers:
    return new_stream(jetstream, request.param, STREAMS[request.param])


def different(consumers: Consumers, configs: Iterable[Config]) -> list[tuple[str, str, str]]:
    """The configurations that the two do not agree on, with their answers."""
    found = []
    rules = ConsumerRules(consumers.stream)
    for config in configs:
        name = consumers.fresh_name()
        body = consumers.body(name, config)
        theirs = consumers.create(name, body)
        ours = created(name, body, rules)
        if "err_code" not in theirs:
            consumers.delete(name)
        if ours != SUFFIX.sub(r"\1", theirs):
            found.append((body.decode()[:300], theirs, ours))
    return found


def test_each_value(consumers: Consumers) -> None:
    assert different(consumers, SINGLE) == []
    assert different(consumers, ({**each, "pedantic": True} for each in SINGLE)) == []


def test_combinations_with_a_rule(consumers: Consumers) -> None:
    assert different(consumers, TOGETHER) == []


def test_of_several_faults_the_same_one_is_named(consumers: Consumers) -> None:
    rng = random.Random(2151)
    fields = list(VALUES)
    configs = (
        {
            "pedantic": rng.random() < 0.3,
            **{field: rng.choice(VALUES[field]) for field in rng.sample(fields, rng.randint(2, 7))},
        }
        for _ in range(COMBINATIONS)
    )
    assert different(consumers, configs) == []
