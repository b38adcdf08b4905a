"""CONSUMER.CREATE for a consumer that is there: what may change, and what it is afterwards."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Final

import pytest

from jetstream_py.api.consumer_config import ConsumerRules, check_config, check_new
from jetstream_py.api.consumer_types import ConsumerConfig, CreateConsumerRequest
from jetstream_py.api.decode import decode_body
from jetstream_py.api.errors import ApiError
from tests.api.cases_consumer import STREAMS, VALUES
from tests.api.cases_create import Config
from tests.api.consumers import Consumers, new_stream, updated
from tests.api.oracle import Oracle

COMBINATIONS: Final = 400
# Consumers of mirrors and sources that come back are treated in ways of their own.
INTERNAL: Final = ("direct", "sourcing")
# Where nobody listens: a deliver subject that other streams store could not be left again.
CHOICES: Final = VALUES | {"deliver_subject": ("", "d", "d.x", "e", "e.*")}


@pytest.fixture(scope="module", params=("LIMITS", "WORK"))
def consumers(request: pytest.FixtureRequest, jetstream: Oracle) -> Consumers:
    name = f"UPDATE_{request.param}"
    config = STREAMS[request.param] | {"subjects": [f"{name}.>"]}
    return new_stream(jetstream, name, config)


def configured(consumers: Consumers, name: str, config: Config) -> ConsumerConfig:
    """The configuration of a new consumer, as ours."""
    rules = ConsumerRules(consumers.stream)
    request = decode_body(consumers.body(name, config), CreateConsumerRequest)
    request.config.name = name
    return check_new(check_config(request.config, rules), rules, ())


def different(
    consumers: Consumers, changes: Iterable[tuple[Config, Config]]
) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    rules = ConsumerRules(consumers.stream)
    for before, after in changes:
        name = consumers.fresh_name()
        old = configured(consumers, name, before)
        assert "err_code" not in consumers.create(name, consumers.body(name, before)), before
        body = consumers.body(name, after)
        theirs = consumers.create(name, body)
        ours = updated(old, name, body, rules)
        consumers.delete(name)
        if ours != theirs:
            found.append((before, after, theirs, ours))
    return found


def each_change() -> Iterable[tuple[Config, Config]]:
    for base in ({"deliver_subject": "d"}, {"durable_name": "@"}):
        for field, values in VALUES.items():
            for value in values:
                yield (
                    {"ack_policy": "explicit", **base},
                    {
                        "ack_policy": "explicit",
                        **base,
                        field: value,
                    },
                )
                yield {"ack_policy": "explicit", **base}, {"action": "create", field: value}


def possible(
    consumers: Consumers, changes: Iterable[tuple[Config, Config]]
) -> Iterable[tuple[Config, Config]]:
    """Those whose first half makes a consumer."""
    for before, after in changes:
        try:
            configured(consumers, "X", before)
        except ApiError:
            continue
        yield before, after


def combinations(rng: random.Random) -> Iterable[tuple[Config, Config]]:
    fields = [field for field in CHOICES if field not in INTERNAL]
    for _ in range(COMBINATIONS):
        before, more = (
            {field: rng.choice(CHOICES[field]) for field in rng.sample(fields, rng.randint(1, 4))}
            for _ in range(2)
        )
        before.setdefault("ack_policy", "explicit")
        action = rng.choice(("", "", "update", "create"))
        yield before, {**before, **more, "action": action} if rng.random() < 0.7 else more


def test_each_change(consumers: Consumers) -> None:
    assert different(consumers, possible(consumers, each_change())) == []


def test_of_several_faults_the_same_one_is_named(consumers: Consumers) -> None:
    changes = possible(consumers, combinations(random.Random(2151)))
    assert different(consumers, changes) == []


def test_the_way_back(consumers: Consumers) -> None:
    """What may change once may change again: from every value of a field to every other."""
    free = ("description", "ack_wait", "max_deliver", "backoff", "inactive_threshold", "metadata")
    changes = (
        ({"ack_policy": "explicit", field: a}, {"ack_policy": "explicit", field: b})
        for field in free
        for a in VALUES[field]
        for b in VALUES[field]
        if len(json.dumps([a, b])) < 1000
    )
    assert different(consumers, possible(consumers, changes)) == []
