"""STREAM.UPDATE: what may change, and what the stream is afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from jetstream_py.api.decode import decode_body
from jetstream_py.api.errors import ApiError
from jetstream_py.api.requests import StreamConfigRequest
from jetstream_py.api.stream_config import Rules, check_create
from jetstream_py.api.types import StreamConfig
from tests.api.cases_create import Config
from tests.api.cases_update import CHANGES, VALUES
from tests.api.oracle import Oracle, as_bytes, updated

COMBINATIONS: Final = 400
OVERLAP: Final = '"err_code":10065'
RULES: Final = Rules()


def configured(name: str, config: Config) -> StreamConfig:
    return check_create(decode_body(as_bytes({"name": name, **config}), StreamConfigRequest))


def different(oracle: Oracle, changes: Iterable[tuple[Config, Config]]) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for before, after in changes:
        name = oracle.fresh_name()
        if OVERLAP in (theirs := oracle.config("CREATE", name, {"name": name, **before})):
            continue
        assert "err_code" not in theirs, before
        theirs = oracle.config("UPDATE", name, {"name": name, **after})
        ours = updated(configured(name, before), {"name": name, **after}, RULES)
        oracle.delete(name)
        if ours != theirs and OVERLAP not in theirs:
            found.append((before, after, theirs, ours))
    return found


def test_changes(jetstream: Oracle) -> None:
    assert different(jetstream, CHANGES) == []


def test_of_several_faults_the_same_one_is_named(jetstream: Oracle) -> None:
    rng = random.Random(2151)
    assert different(jetstream, combinations(rng)) == []


def combinations(rng: random.Random) -> Iterable[tuple[Config, Config]]:
    fields = list(VALUES)
    made = 0
    while made < COMBINATIONS:
        before, more = (
            {field: rng.choice(VALUES[field]) for field in rng.sample(fields, rng.randint(1, 4))}
            for _ in range(2)
        )
        try:
            configured("X", before)
        except ApiError:
            continue
        made += 1
        yield before, {**before, **more} if rng.random() < 0.6 else more


def test_sealed_is_for_ever(jetstream: Oracle) -> None:
    name = jetstream.fresh_name()
    jetstream.config("CREATE", name, {"name": name})
    jetstream.config("UPDATE", name, {"name": name, "sealed": True})
    sealed = configured(name, {})
    sealed.sealed = sealed.deny_delete = sealed.deny_purge = True
    for after in ({}, {"sealed": True}, {"deny_delete": True, "deny_purge": True}):
        body = {"name": name, **after}
        assert updated(sealed, body, RULES) == jetstream.config("UPDATE", name, body)
    jetstream.delete(name)
