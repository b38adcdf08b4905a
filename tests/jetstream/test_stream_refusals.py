"""Stream configs that are refused, with the exact error."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.support import SECOND, JetStream, Json, scenario

NAME_RULE = r"stream name is required and can not contain '.', '*', '>', '\', '/'"

# The rows proven, the config of stream S, err_code, description.
REFUSED: list[tuple[str, Json, int, str]] = [
    ("STR-012", {"subjects": ["a.>", "a.b"]}, 10052, 'subject "a.>" overlaps with "a.b"'),
    ("STR-012", {"subjects": ["a", "a"]}, 10052, 'subject "a" overlaps with "a"'),
    ("STR-012", {"subjects": ["a.*", "*.b"]}, 10052, 'subject "a.*" overlaps with "*.b"'),
    ("STR-013", {"subjects": ["a..b"]}, 10052, "invalid subject"),
    ("STR-013", {"subjects": ["a b"]}, 10052, "invalid subject"),
    ("STR-013", {"subjects": [""]}, 10052, "invalid subject"),
    ("STR-013", {"subjects": ["a.>.b"]}, 10052, "invalid subject"),
    ("STR-014", {"subjects": [">"]}, 10052, "capturing all subjects requires no-ack to be true"),
    *(
        (
            "STR-015",
            {"subjects": [subject]},
            10052,
            "subjects that overlap with jetstream api require no-ack to be true",
        )
        for subject in ("$JS.API.>", "$JS.>", "*.API.x", "$JSC.x", "$NRG.x")
    ),
    *(
        (
            "STR-016",
            {"subjects": [subject]},
            10052,
            "subjects that overlap with system api require no-ack to be true",
        )
        for subject in ("$SYS.>", "$SYS.x")
    ),
    ("STR-018", {"num_replicas": 3}, 10074, "replicas > 1 not supported in non-clustered mode"),
    ("STR-019", {"num_replicas": 6}, 10052, "maximum replicas is 5"),
    ("STR-020", {"num_replicas": -1}, 10133, "replicas count cannot be negative"),
    ("STR-021", {"max_age": -1}, 10052, "max age can not be negative"),
    ("STR-022", {"max_age": SECOND // 10 - 1}, 10052, "max age needs to be >= 100ms"),
    ("STR-023", {"duplicate_window": -1}, 10052, "duplicates window can not be negative"),
    (
        "STR-024",
        {"max_age": SECOND, "duplicate_window": 2 * SECOND},
        10052,
        "duplicates window can not be larger then max age",
    ),
    ("STR-025", {"duplicate_window": 1000}, 10052, "duplicates window needs to be >= 100ms"),
    (
        "STR-028",
        {"deny_purge": True, "allow_rollup_hdrs": True},
        10052,
        "roll-ups require the purge permission",
    ),
    (
        "STR-029",
        {"discard_new_per_subject": True, "max_msgs_per_subject": 1},
        10052,
        "discard new per subject requires discard new policy to be set",
    ),
    (
        "STR-030",
        {"discard_new_per_subject": True, "discard": "new"},
        10052,
        "discard new per subject requires max msgs per subject > 0",
    ),
    ("STR-031", {"sealed": True}, 10052, "stream configuration for create can not be sealed"),
    ("STR-032", {"mirror_direct": True}, 10052, "stream has no mirror but does have mirror direct"),
    (
        "STR-033",
        {"subject_delete_marker_ttl": SECOND - 1},
        10052,
        "subject delete marker TTL must be at least 1 second",
    ),
    (
        "STR-034",
        {"subject_delete_marker_ttl": -1},
        10052,
        "subject delete marker TTL must not be negative",
    ),
    (
        "STR-037",
        {"allow_msg_counter": True, "discard": "new"},
        10052,
        "counter stream cannot use discard new",
    ),
    (
        "STR-038",
        {"allow_msg_counter": True, "allow_msg_ttl": True},
        10052,
        "counter stream cannot use message TTLs",
    ),
    (
        "STR-039",
        {"allow_msg_counter": True, "allow_msg_schedules": True},
        10052,
        "counter stream cannot use message schedules",
    ),
    (
        "STR-040",
        {"allow_msg_counter": True, "retention": "workqueue"},
        10052,
        "counter stream can only use limits retention",
    ),
    (
        "STR-041",
        {"allow_msg_schedules": True, "discard": "new"},
        10052,
        "message scheduling cannot use discard new",
    ),
    (
        "STR-042",
        {"persist_mode": "async", "storage": "memory"},
        10052,
        "async persist mode is only supported on file storage",
    ),
    (
        "STR-043",
        {"persist_mode": "async", "allow_atomic": True},
        10052,
        "async persist mode is not supported with atomic batch publish",
    ),
    (
        "STR-044",
        {"subject_transform": {"src": "S", "dest": "a..b"}},
        10156,
        "stream transform: invalid mapping destination: invalid transform",
    ),
    (
        "STR-045",
        {"subject_transform": {"src": "a..b", "dest": "S"}},
        10155,
        "stream transform source: invalid subject a..b",
    ),
    (
        "STR-046",
        {"subjects": ["a.>"], "republish": {"src": ">", "dest": "a.>"}},
        10052,
        "stream configuration for republish destination forms a cycle",
    ),
    (
        "STR-047",
        {"subjects": ["a.>"], "republish": {"src": "a.*", "dest": "b.$2"}},
        10052,
        "stream configuration for republish with transform from 'a.*' to 'b.$2' not valid",
    ),
    (
        "STR-048",
        {"placement": {"preferred": "me"}},
        10052,
        "preferred server not permitted in placement",
    ),
    (
        "STR-049",
        {"description": "x" * 4097},
        10052,
        "stream description is too long, maximum allowed is 4096",
    ),
    (
        "STR-050",
        {"metadata": {"k": "x" * 131072}},
        10052,
        "stream metadata exceeds maximum size of 131072 bytes",
    ),
    ("STR-051", {"pedantic": True, "max_msgs": -5}, 10157, "max_msgs must be set to -1"),
    ("STR-051", {"pedantic": True, "max_bytes": -5}, 10157, "max_bytes must be set to -1"),
    ("STR-051", {"pedantic": True, "max_msg_size": -5}, 10157, "max_msg_size must be set to -1"),
    ("STR-051", {"pedantic": True, "max_consumers": -5}, 10157, "max_consumers must be set to -1"),
    (
        "STR-051",
        {"pedantic": True, "max_msgs_per_subject": -5},
        10157,
        "max_msgs_per_subject must be set to -1",
    ),
    (
        "STR-052",
        {"pedantic": True, "max_age": SECOND},
        10157,
        "duplicate window cannot be bigger than max age",
    ),
    (
        "STR-053",
        {"pedantic": True, "subject_delete_marker_ttl": SECOND},
        10052,
        "subject delete marker cannot be set if message TTLs are disabled",
    ),
    (
        "STR-054",
        {"pedantic": True, "allow_msg_schedules": True},
        10052,
        "message scheduling cannot be set if roll-ups are disabled",
    ),
    (
        "STR-055",
        {"pedantic": True, "republish": {"src": "", "dest": "R"}},
        10157,
        "republish source can not be empty",
    ),
]
CODES = dict.fromkeys((10133, 10155, 10156, 10157), 400)


def cases() -> list[object]:
    return [
        pytest.param(
            config, code, text, marks=pytest.mark.behaviour(row), id=json.dumps(config)[:80]
        )
        for row, config, code, text in REFUSED
    ]


@pytest.mark.parametrize(("config", "code", "text"), cases())
@scenario()
def test_config_is_refused(js: JetStream, config: Json, code: int, text: str) -> None:
    error = js.create_refused("S", **config)
    assert error["err_code"] == code
    assert error["code"] == CODES.get(code, 500)
    assert error["description"].removeprefix("pedantic mode: ").startswith(text)
    assert js.ok("STREAM.NAMES")["streams"] is None


@scenario("STR-003")
def test_other_config_for_an_existing_name(js: JetStream) -> None:
    js.create("S")
    error = js.create_refused("S", max_msgs=1)
    assert error == {
        "code": 400,
        "err_code": 10058,
        "description": "stream name already in use with a different configuration",
    }
    assert js.create_refused("S", storage="memory")["err_code"] == 10058
    assert js.create_refused("S", subjects=["T"])["err_code"] == 10058
    assert js.create_refused("S", metadata={"a": "b"})["err_code"] == 10058


@scenario("STR-004", "STR-005")
def test_name_in_the_body_differs(js: JetStream) -> None:
    error = js.refused("STREAM.CREATE.S", {"name": "T"})
    assert (error["code"], error["err_code"]) == (400, 10056)
    assert js.refused("STREAM.CREATE.S")["err_code"] == 10056
    assert js.refused("STREAM.CREATE.S", {})["err_code"] == 10056
    assert js.refused("STREAM.UPDATE.S", {"name": "T"})["err_code"] == 10056
    assert js.refused("STREAM.UPDATE.S")["err_code"] == 10052


@scenario("STR-006")
def test_unknown_field(js: JetStream) -> None:
    error = js.create_refused("S", bogus=1)
    assert (error["code"], error["err_code"]) == (400, 10025)
    assert error["description"] == 'invalid JSON: json: unknown field "bogus"'
    assert js.create_refused("S", template_owner="x")["err_code"] == 10025
    assert js.create_refused("S", placement={"bogus": 1})["err_code"] == 10025
    for verb in ("STREAM.UPDATE.S", "STREAM.INFO.S", "STREAM.NAMES", "STREAM.LIST"):
        js.refused(verb, {"bogus": 1})
    js.create("S")
    for verb in ("STREAM.INFO.S", "STREAM.PURGE.S", "STREAM.MSG.GET.S", "STREAM.MSG.DELETE.S"):
        assert js.refused(verb, {"bogus": 1})["err_code"] == 10025


BROKEN = [
    b"{bad", b"{", b"[", b"[]", b'"S"', b"1", b"null", b'{"name":"S"', b'{"name":"S",}',
    b'{"name":"S"}x', b'{"name":"S"} ', b" \n{\"name\":\"S\"}", b'{"name":1}', b'{"name":"S","max_msgs":"1"}',
    b'{"name":"S","max_msgs":1.5}', b'{"name":"S","max_msgs":1e3}', b'{"name":"S","subjects":"a"}',
    b'{"name":"S","subjects":[1]}', b'{"name":"S","max_age":"1s"}', b'{"name":"S","sealed":0}',
    b'{"name":"S","max_msg_size":2147483648}', b'{"name":"S","first_seq":-1}', b'{"NAME":"S"}',
    b'{"name":"S","name":"T"}', b'{"name":"S","max_msgs":9223372036854775808}', b"{'name':'S'}",
    b'{"name":"S","description":"\xff"}', b'{"name":"S","description":"\\ud800"}', b'{"name":"S\n"}',
]  # fmt: skip


@pytest.mark.parametrize("body", BROKEN, ids=repr)
@scenario("STR-007")
def test_broken_json(js: JetStream, body: bytes) -> None:
    js.api("STREAM.CREATE.S", body)


@scenario("STR-007")
def test_broken_json_names_the_position(js: JetStream) -> None:
    assert js.refused("STREAM.CREATE.S", b"{bad") == {
        "code": 400,
        "err_code": 10025,
        "description": "invalid JSON: invalid character 'b' looking for beginning of object key "
        "string at offset 2",
    }


ENUMS = ["retention", "discard", "storage", "compression", "persist_mode"]


@pytest.mark.parametrize("field", ENUMS)
@pytest.mark.parametrize("value", ["foo", 1, None, ""])
@scenario("STR-008")
def test_wrong_enum(js: JetStream, field: str, value: object) -> None:
    answer = js.api("STREAM.CREATE.S", {"name": "S", field: value})
    if value == "foo":
        assert answer["error"]["err_code"] == 10025


@scenario("STR-009")
def test_path_separator_in_the_name(js: JetStream) -> None:
    for name in ("A/b", "A\\b"):
        error = js.create_refused(name)
        assert (error["code"], error["err_code"]) == (400, 10128)


@scenario("STR-010")
def test_wildcard_in_the_name(js: JetStream) -> None:
    for name in ("A*", "A>"):
        error = js.create_refused(name)
        assert (error["code"], error["err_code"]) == (500, 10052)
        assert error["description"] == NAME_RULE


@scenario("STR-010")
def test_long_name(js: JetStream) -> None:
    js.create("n" * 255)
    error = js.create_refused("n" * 256)
    assert error["description"] == "stream name is too long, maximum allowed is 255"


@scenario("STR-011")
def test_subjects_of_another_stream(js: JetStream) -> None:
    js.create("S", subjects=["u.>"])
    error = js.create_refused("T", subjects=["u.x"])
    assert (error["code"], error["err_code"]) == (400, 10065)
    assert js.create_refused("T", subjects=["a", "u.*"])["err_code"] == 10065
    assert js.create_refused("T", subjects=["*.x"])["err_code"] == 10052
    js.create("T", subjects=["t"])
    error = js.update_refused("T", subjects=["t", "u.y"])
    assert error["err_code"] == 10065
    assert js.info("T")["config"]["subjects"] == ["t"]


@scenario("STR-014", "STR-015", "STR-016")
def test_api_and_system_may_be_captured_without_acks(js: JetStream) -> None:
    js.create("S", subjects=["$SYS.x", "$JS.x"], no_ack=True)


@scenario("STR-017")
def test_advisories_may_be_captured(js: JetStream) -> None:
    """Off the record: whether it has captured something by the time of the answer is chance."""
    config = {"name": "S", "subjects": ["$JS.EVENT.>", "$SYS.ACCOUNT.>"]}
    assert js.ask("STREAM.CREATE.S", config)["config"]["subjects"] == config["subjects"]
    js.create("T")
    selector = {"last_by_subj": "$JS.EVENT.ADVISORY.STREAM.CREATED.T"}
    js.until(lambda: "message" in js.ask("STREAM.MSG.GET.S", selector))


@scenario("STR-003", "STR-031", "STR-012")
def test_order_of_checks(js: JetStream) -> None:
    """Several things are wrong at once; which one is told."""
    js.create("S")
    js.create_refused("S", sealed=True, mirror_direct=True)
    js.create_refused("S", mirror_direct=True, max_age=-1)
    js.create_refused("S", max_age=-1, num_replicas=3)
    js.create_refused("S", num_replicas=3, subjects=["T", "T"])
    js.create_refused("T", num_replicas=3, subjects=["S"])
    js.create_refused("T", subjects=["S"], max_age=-1, duplicate_window=-1)
    js.create_refused("S", subjects=["S", "S"], description="x" * 5000)
