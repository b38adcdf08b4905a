"""Configs of mirrors and sources that are refused. Nothing is copied here."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import SECOND, JetStream, Json, scenario

MIRROR: Json = {"name": "O"}
TRANSFORM = [{"src": "a", "dest": "b"}]
REFUSED: list[tuple[str, Json, int]] = [
    ("STR-036", {"mirror": MIRROR, "subject_delete_marker_ttl": SECOND}, 10052),
    ("STR-056", {"mirror": MIRROR, "subjects": ["a"]}, 10034),
    ("STR-057", {"mirror": MIRROR, "sources": [{"name": "P"}]}, 10031),
    ("STR-058", {"mirror": MIRROR, "first_seq": 5}, 10143),
    ("STR-059", {"mirror": {"name": "a.b"}}, 10142),
    ("STR-059", {"mirror": {"name": ""}}, 10142),
    (
        "STR-060",
        {"mirror": {"name": "O", "filter_subject": "a", "subject_transforms": TRANSFORM}},
        10150,
    ),
    ("STR-061", {"mirror": MIRROR, "allow_atomic": True}, 10198),
    ("STR-062", {"mirror": MIRROR, "allow_batched": True}, 10209),
    ("STR-063", {"mirror": MIRROR, "allow_msg_counter": True}, 10173),
    ("STR-064", {"mirror": MIRROR, "allow_msg_schedules": True}, 10186),
    ("STR-065", {"sources": [{"name": "O"}, {"name": "O"}]}, 10140),
    ("STR-066", {"sources": [{"name": ""}]}, 10141),
    ("STR-067", {"sources": [{"name": "O"}], "allow_msg_schedules": True}, 10187),
    ("STR-068", {"subjects": ["S"], "sources": [{"name": "S"}]}, 10052),
    ("STR-069", {"mirror": {"name": "O", "external": {"api": "$JS.API"}}}, 10021),
    (
        "STR-070",
        {"mirror": {"name": "O", "external": {"api": "$JS.x.API", "deliver": "a.*"}}},
        10024,
    ),
]


def cases() -> list[object]:
    return [
        pytest.param(config, code, marks=pytest.mark.behaviour(row), id=json.dumps(config)[:80])
        for row, config, code in REFUSED
    ]


@pytest.mark.parametrize(("config", "code"), cases())
@scenario()
def test_config_is_refused(js: JetStream, config: Json, code: int) -> None:
    assert js.create_refused("S", **config)["err_code"] == code


@scenario("STR-077")
def test_mirror_cannot_be_added(js: JetStream) -> None:
    js.create("S")
    assert js.update_refused("S", mirror=MIRROR)["err_code"] == 10055
