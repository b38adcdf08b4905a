"""Consumers on a server with limits, and what depends on the consumers that are there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jetstream_py.api.consumer_config import ConsumerRules, check_config, check_new
from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.api.errors import ApiError
from jetstream_py.api.types import AccountLimits, StreamConfig
from tests.api.cases_create import Config
from tests.api.consumers import Consumers, created, new_stream
from tests.api.oracle import Oracle
from tests.support.server import ORACLE, Servers

CONFIG = """
jetstream {
    store_dir: "%s"
    limits { max_ack_pending: 500, max_request_batch: 10 }
}
"""
CASES: list[Config] = [
    {},
    {"pedantic": True},
    {"ack_policy": "explicit"},
    {"ack_policy": "explicit", "max_ack_pending": 500},
    {"ack_policy": "explicit", "max_ack_pending": 501},
    {"ack_policy": "explicit", "max_ack_pending": -1},
    {"max_batch": 10},
    {"max_batch": 10, "pedantic": True},
    {"max_batch": 11},
    {"max_batch": -1},
    {"deliver_subject": "d", "max_batch": 11},
    {"deliver_subject": "d"},
    {"max_batch": 11, "max_expires": 1},
    {"max_batch": 11, "ack_policy": "all", "max_ack_pending": 501},
]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consumers]:
    with Servers(tmp_path_factory.mktemp("limited")) as servers:
        store = tmp_path_factory.mktemp("store")
        oracle = Oracle(servers.start(ORACLE, CONFIG % store))
        with oracle.client:
            yield new_stream(oracle, "S", {"subjects": ["s"]})


@pytest.mark.parametrize("config", CASES)
def test_server_limits(limited: Consumers, config: Config) -> None:
    rules = ConsumerRules(limited.stream, max_ack_pending=500, max_batch=10)
    name = limited.fresh_name()
    body = limited.body(name, config)
    assert created(name, body, rules) == limited.create(name, body)


def test_the_lower_limit_of_account_and_server_counts() -> None:
    account = AccountLimits(max_ack_pending=100)
    rules = ConsumerRules(StreamConfig(num_replicas=1), account, max_ack_pending=500)
    config = ConsumerConfig(name="c", ack_policy="explicit")
    assert check_config(config, rules).max_ack_pending == 100
    config.max_ack_pending = 101
    with pytest.raises(ApiError, match="exceeds system limit of 100"):
        check_config(config, rules)


@pytest.mark.parametrize(
    ("stream", "account", "most"), [(-1, -1, 9), (2, -1, 2), (-1, 2, 2), (3, 2, 2), (2, 3, 2)]
)
def test_the_lower_limit_of_account_and_stream_counts(stream: int, account: int, most: int) -> None:
    limits = AccountLimits(max_consumers=account)
    rules = ConsumerRules(StreamConfig(num_replicas=1, max_consumers=stream), limits)
    others = [ConsumerConfig(name="x")] * (most - 1) + [ConsumerConfig(direct=True)] * 5
    check_new(ConsumerConfig(name="c"), rules, others)
    if most < 9:
        others.append(ConsumerConfig(name="y"))
        with pytest.raises(ApiError, match="maximum consumers limit reached"):
            check_new(ConsumerConfig(name="c"), rules, others)
