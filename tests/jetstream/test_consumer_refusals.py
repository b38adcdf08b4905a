"""Consumer configs that are refused, with the exact error."""

from __future__ import annotations

import json

import pytest

from tests.jetstream.consumers import (
    EXPLICIT,
    MS,
    PUSH,
    add,
    body,
    label,
    names,
    proves,
    refused,
)
from tests.jetstream.support import SECOND, JetStream, Json, scenario

START = "consumer delivery policy is deliver "
GROUP_RULE = (
    "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 characters"
)
PINNED: Json = {"priority_policy": "pinned_client"}
FLOW: Json = {**PUSH, "ack_policy": "flow_control"}

# The row proven, the config of consumer C of stream S, err_code, description.
REFUSED: list[tuple[str, Json, int, str]] = [
    (
        "CON-012",
        {"num_replicas": 3},
        10074,
        "replicas > 1 not supported in non-clustered mode",
    ),
    ("", {"num_replicas": -1}, 10133, "replicas count cannot be negative"),
    ("CON-013", {"ack_wait": -1}, 10183, "consumer ack wait needs to be positive"),
    ("CON-014", {"backoff": [-1]}, 10184, "consumer backoff needs to be positive"),
    (
        "CON-015",
        {"max_deliver": 1, "backoff": [SECOND, SECOND]},
        10116,
        "max deliver is required to be > length of backoff values",
    ),
    ("CON-016", {"deliver_subject": "d.*"}, 10079, "consumer deliver subject has wildcards"),
    ("CON-017", {"deliver_subject": "d..x"}, 10112, "invalid push consumer deliver subject"),
    ("CON-018", {"deliver_subject": "s.x"}, 10081, "consumer deliver subject forms a cycle"),
    (
        "CON-019",
        {**PUSH, "max_waiting": 1},
        10080,
        "consumer in push mode can not set max waiting",
    ),
    (
        "CON-020",
        {**PUSH, "max_ack_pending": 1},
        10082,
        "consumer requires ack policy for max ack pending",
    ),
    (
        "CON-021",
        {**PUSH, "idle_heartbeat": 100 * MS - 1},
        10083,
        "consumer idle heartbeat needs to be >= 100ms",
    ),
    ("CON-022", {"rate_limit_bps": 1}, 10086, "consumer in pull mode can not have rate limit set"),
    (
        "CON-023",
        {"idle_heartbeat": SECOND},
        10088,
        "consumer idle heartbeat requires a push based consumer",
    ),
    (
        "CON-024",
        {"flow_control": True},
        10089,
        "consumer flow control requires a push based consumer",
    ),
    (
        "CON-025",
        {**PUSH, "flow_control": True},
        10108,
        "consumer with flow control also needs heartbeats",
    ),
    ("CON-026", {"max_expires": MS - 1}, 10115, "consumer max request expires needs to be >= 1ms"),
    (
        "CON-027",
        {"filter_subject": "a", "filter_subjects": ["b"]},
        10136,
        "consumer cannot have both FilterSubject and FilterSubjects specified",
    ),
    (
        "CON-028",
        {"filter_subjects": ["a", ""]},
        10139,
        "consumer filter in FilterSubjects cannot be empty",
    ),
    (
        "CON-029",
        {"filter_subjects": ["a.*", "a.b"]},
        10138,
        "consumer subject filters cannot overlap",
    ),
    ("CON-030", {"filter_subject": "a..b"}, 10052, "invalid subject"),
    ("CON-030", {"filter_subjects": ["a", "b."]}, 10052, "invalid subject"),
    *(
        (
            "CON-032",
            {"deliver_policy": policy, "filter_subject": "a", "opt_start_seq": 1},
            10094,
            f"{START}{words}, but optional start sequence is also set",
        )
        for policy, words in (
            ("all", "all"),
            ("last", "last"),
            ("new", "new"),
            ("last_per_subject", "last per subject"),
        )
    ),
    (
        "CON-032",
        {"opt_start_time": "2024-01-01T00:00:00Z"},
        10094,
        f"{START}all, but optional start time is also set",
    ),
    (
        "CON-033",
        {"deliver_policy": "by_start_sequence"},
        10094,
        f"{START}by start sequence, but optional start sequence is not set",
    ),
    (
        "CON-034",
        {"deliver_policy": "by_start_time"},
        10094,
        f"{START}by start time, but optional start time is not set",
    ),
    (
        "CON-034",
        {
            "deliver_policy": "by_start_time",
            "opt_start_time": "2024-01-01T00:00:00Z",
            "opt_start_seq": 1,
        },
        10094,
        f"{START}by start time, but optional start start sequence is also set",
    ),
    (
        "CON-035",
        {"deliver_policy": "last_per_subject"},
        10094,
        f"{START}last per subject, but optional filter subject is not set",
    ),
    (
        "CON-036",
        {"sample_freq": "x%"},
        10095,
        'failed to parse consumer sampling configuration: strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        "CON-036",
        {"sample_freq": "-1"},
        10095,
        "failed to parse consumer sampling configuration: <nil>",
    ),
    ("CON-037", {"direct": True}, 10090, "consumer direct requires a push based consumer"),
    (
        "",
        {**PUSH, "direct": True, "durable_name": "C"},
        10091,
        "consumer direct requires an ephemeral consumer",
    ),
    (
        "CON-038",
        PINNED,
        10159,
        "Setting PriorityPolicy requires at least one PriorityGroup to be set",
    ),
    (
        "CON-039",
        {"priority_groups": ["g"]},
        10196,
        "consumer can not have priority groups when policy is none",
    ),
    (
        "CON-040",
        {"priority_timeout": SECOND},
        10197,
        "PinnedTTL cannot be set when PriorityPolicy is none",
    ),
    (
        "CON-041",
        {**PUSH, **PINNED, "priority_groups": ["g"]},
        10178,
        "priority groups can not be used with push consumers",
    ),
    ("CON-042", {**PINNED, "priority_groups": [""]}, 10161, "Group name cannot be an empty string"),
    *(
        ("CON-043", {**PINNED, "priority_groups": ["g", group]}, 10162, GROUP_RULE)
        for group in ("a b", "a)", "a+", "x" * 17)
    ),
    (
        "CON-044",
        {"description": "x" * 4097},
        10107,
        "consumer description is too long, maximum allowed is 4096",
    ),
    (
        "CON-045",
        {"ack_policy": "flow_control"},
        10218,
        "flow control ack policy requires a push based consumer",
    ),
    (
        "",
        {**FLOW, "max_ack_pending": -1},
        10220,
        "flow control ack policy requires max ack pending",
    ),
    ("", {**FLOW, "ack_wait": SECOND}, 10221, "flow control ack policy requires unset ack wait"),
    ("", {**FLOW, "backoff": [SECOND]}, 10221, "flow control ack policy requires unset ack wait"),
    ("", {**FLOW, "max_deliver": 1}, 10222, "flow control ack policy requires unset max deliver"),
    (
        "CON-080",
        {"metadata": {"k": "x" * (128 * 1024)}},
        10135,
        "consumer metadata exceeds maximum size of 128KB",
    ),
]


@pytest.mark.parametrize(
    ("config", "code", "text"),
    [
        pytest.param(config, code, text, marks=proves(row), id=label(config))
        for row, config, code, text in REFUSED
    ],
)
@scenario()
def test_refused(js: JetStream, config: Json, code: int, text: str) -> None:
    js.create("S", subjects=["s.>"])
    error = refused(js, "S", "C", config)
    assert (error["err_code"], error["description"]) == (code, text)
    assert names(js, "S") == []


# What a pedantic client is told, who would otherwise be corrected.
PEDANTIC: list[tuple[str, Json, str]] = [
    ("CON-064", {"max_deliver": -2}, "max_deliver must be set to -1"),
    ("CON-065", {"backoff": [SECOND]}, "first backoff value has to equal batch AckWait"),
    ("", {"max_ack_pending": -2}, "max_ack_pending must be set to -1"),
    *(
        ("", {field: -1}, f"{field} must not be negative")
        for field in (
            "max_waiting",
            "max_batch",
            "max_expires",
            "max_bytes",
            "idle_heartbeat",
            "inactive_threshold",
            "priority_timeout",
        )
    ),
]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        pytest.param(config, text, marks=proves(row), id=label(config))
        for row, config, text in PEDANTIC
    ],
)
@scenario()
def test_pedantic(js: JetStream, config: Json, text: str) -> None:
    js.create("S", subjects=["s.>"])
    error = refused(js, "S", "C", config, pedantic=True)
    assert (error["err_code"], error["description"]) == (10157, f"pedantic mode: {text}")
    add(js, "S", "C", config)


@scenario()
def test_pedantic_acks_by_flow_control(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    assert refused(js, "S", "C", FLOW, pedantic=True)["err_code"] == 10219
    slow = {**FLOW, "flow_control": True, "idle_heartbeat": 2 * SECOND}
    error = refused(js, "S", "C", slow, pedantic=True)
    assert error["description"] == "flow control ack policy heartbeat needs to be 1s"
    config = {**FLOW, "flow_control": True, "idle_heartbeat": SECOND}
    js.ok("CONSUMER.CREATE.S.C", body("S", config, pedantic=True))


@scenario("CON-071")
def test_consumer_limits(js: JetStream) -> None:
    limits = {"inactive_threshold": 10 * SECOND, "max_ack_pending": 50}
    js.create("S", subjects=["s.>"], consumer_limits=limits)
    error = refused(js, "S", "C", {**EXPLICIT, "max_ack_pending": 51})
    assert error["description"] == "consumer max ack pending exceeds system limit of 50"
    assert error["err_code"] == 10121
    error = refused(js, "S", "C", {"inactive_threshold": 11 * SECOND})
    assert error["description"] == "consumer inactive threshold exceeds system limit of 10s"
    assert error["err_code"] == 10153
    must = "must be set if it's configured in stream limits"
    for config, field in (({}, "max_ack_pending"), ({"max_ack_pending": 1}, "inactive_threshold")):
        error = refused(js, "S", "C", config, pedantic=True)
        assert error["description"] == f"pedantic mode: {field} {must}"


@scenario("CON-070")
def test_max_consumers(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], max_consumers=1)
    add(js, "S", "C")
    error = refused(js, "S", "D", {})
    assert (error["err_code"], error["code"]) == (10026, 400)
    add(js, "S", "C", description="the same one")
    js.ok("CONSUMER.DELETE.S.C")
    add(js, "S", "D")


@scenario("CON-050", "CON-051", "CON-052")
def test_work_queue(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], retention="workqueue")
    assert refused(js, "S", "C", {})["err_code"] == 10084
    assert refused(js, "S", "C", {**PUSH})["err_code"] == 10098
    assert refused(js, "S", "C", {"ack_policy": "all"})["err_code"] == 10098
    assert refused(js, "S", "C", {**EXPLICIT, "deliver_policy": "new"})["err_code"] == 10101
    everything = {**PUSH, "ack_policy": "all", "deliver_policy": "new"}
    assert refused(js, "S", "C", everything)["err_code"] == 10098
    add(js, "S", "C", **PUSH, ack_policy="flow_control")


@scenario("CON-053", "CON-054")
def test_work_queue_has_one_consumer_for_a_message(js: JetStream) -> None:
    js.create("S", subjects=["s.>"], retention="workqueue")
    add(js, "S", "A", **EXPLICIT)
    assert refused(js, "S", "B", EXPLICIT)["err_code"] == 10099
    assert refused(js, "S", "B", {**EXPLICIT, "filter_subject": "s.b"})["err_code"] == 10100
    add(js, "S", "A", **EXPLICIT, filter_subject="s.a.*")
    assert refused(js, "S", "B", EXPLICIT)["err_code"] == 10099
    assert refused(js, "S", "B", {**EXPLICIT, "filter_subject": "s.*.b"})["err_code"] == 10100
    both = {**EXPLICIT, "filter_subjects": ["s.b", "s.a.c"]}
    assert refused(js, "S", "B", both)["err_code"] == 10100
    late = {**EXPLICIT, "filter_subject": "s.a.b", "deliver_policy": "new"}
    assert refused(js, "S", "B", late)["err_code"] == 10101
    add(js, "S", "B", **EXPLICIT, filter_subject="s.b")
    assert refused(js, "S", "B", {**EXPLICIT, "filter_subject": "s.a.c"})["err_code"] == 10100
    js.ok("CONSUMER.DELETE.S.A")
    add(js, "S", "B", **EXPLICIT, filter_subject="s.a.c")


# The row proven, the end of the subject, the config, err_code.
SUBJECTS: list[tuple[str, str, Json, int]] = [
    ("CON-006", "CREATE.S.C", {"durable_name": "D"}, 10017),
    ("CON-006", "DURABLE.CREATE.S.C", {"durable_name": "D"}, 10017),
    ("CON-078", "CREATE.S.C", {"name": "C", "durable_name": "D"}, 10017),
    ("CON-078", "DURABLE.CREATE.S.C", {"name": "C", "durable_name": "D"}, 10017),
    ("CON-007", "CREATE.S", {"durable_name": "D"}, 10020),
    ("CON-008", "DURABLE.CREATE.S.C", {"name": "C"}, 10018),
    ("CON-009", "CREATE.S.C.s.a", {"filter_subject": "s.b"}, 10131),
    ("CON-009", "CREATE.S.C.s.a", {}, 10131),
    ("CON-010", "CREATE.S.C.s.a", {"filter_subjects": ["s.a"]}, 10137),
    ("CON-048", "CREATE.S", {"name": "a.b"}, 10052),
    ("CON-048", "CREATE.S", {"name": "a b"}, 10052),
    ("CON-048", "CREATE.S.*", {}, 10052),
    ("CON-048", "CREATE.S.a*b", {}, 10052),
    ("CON-048", "CREATE.S.>", {}, 10052),
    ("CON-049", "CREATE.S.a/b", {}, 10127),
    ("CON-049", "CREATE.S.a\\b", {}, 10127),
    ("CON-049", "CREATE.S", {"name": "a/b"}, 10127),
    ("CON-049", "DURABLE.CREATE.S.a/b", {"durable_name": "D"}, 10127),
    ("CON-079", f"CREATE.S.{'x' * 256}", {"durable_name": "x" * 256}, 10102),
    ("CON-079", f"CREATE.S.{'x' * 256}", {}, 10012),
    ("CON-079", f"CREATE.S.{'x' * 256}", {"ack_wait": -1}, 10183),
]


@pytest.mark.parametrize(
    ("subject", "config", "code"),
    [
        pytest.param(subject, config, code, marks=proves(row), id=label(subject, config))
        for row, subject, config, code in SUBJECTS
    ],
)
@scenario()
def test_subject_and_body_disagree(js: JetStream, subject: str, config: Json, code: int) -> None:
    js.create("S", subjects=["s.>"])
    assert js.refused(f"CONSUMER.{subject}", body("S", config))["err_code"] == code
    assert names(js, "S") == []


@scenario("CON-005", "CON-011")
def test_streams(js: JetStream) -> None:
    js.create("S", subjects=["s.>"])
    for subject in ("CREATE.S", "CREATE.S.C", "CREATE.S.C.s", "DURABLE.CREATE.S.C"):
        assert js.refused(f"CONSUMER.{subject}", body("T", {}))["err_code"] == 10056
        assert js.refused(f"CONSUMER.{subject}")["err_code"] == 10056
    for subject in ("CREATE.T", "CREATE.T.C"):
        error = js.refused(f"CONSUMER.{subject}", body("T", {"ack_wait": -1}))
        assert error == {"code": 404, "err_code": 10059, "description": "stream not found"}
    assert js.refused("CONSUMER.CREATE.T.C", body("T", {"num_replicas": 3}))["err_code"] == 10074


# What is no request, and how it is refused.
BODIES: list[tuple[str, str, str]] = [
    ("", "{", "unexpected EOF"),
    ("", "[]", "json: cannot unmarshal array into Go value of type server.CreateConsumerRequest"),
    ("", '{"x":1}', 'json: unknown field "x"'),
    ("", '{"config":{"x":1}}', 'json: unknown field "x"'),
    ("CON-047", '{"action":"x"}', 'unknown consumer action: "x"'),
    ("CON-047", '{"action":null}', "unknown consumer action: null"),
    ("", '{"config":{"ack_policy":"x"}}', 'can not unmarshal "\\"x\\""'),
    ("", '{"config":{"deliver_policy":""}}', 'can not unmarshal "\\"\\""'),
    ("", '{"config":{"replay_policy":3}}', 'can not unmarshal "3"'),
    ("", '{"config":{"priority_policy":"x"}}', 'unknown priority policy: "x"'),
    (
        "",
        '{"config":{"backoff":"x"}}',
        "json: cannot unmarshal string into Go struct field "
        "CreateConsumerRequest.config.backoff of type []time.Duration",
    ),
    (
        "",
        '{"config":{"backoff":[1.5]}}',
        "json: cannot unmarshal number 1.5 into "
        "CreateConsumerRequest.config.backoff.0 of type time.Duration",
    ),
    (
        "",
        '{"config":{"opt_start_time":"x"}}',
        'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ),
]


@pytest.mark.parametrize(
    ("text", "fault"),
    [pytest.param(text, fault, marks=proves(row), id=text) for row, text, fault in BODIES],
)
@scenario()
def test_bodies(js: JetStream, text: str, fault: str) -> None:
    js.create("S", subjects=["s.>"])
    error = js.refused("CONSUMER.CREATE.S.C", text.encode())
    assert (error["err_code"], error["description"]) == (10025, f"invalid JSON: {fault}")


@scenario()
def test_an_identity_that_is_not_the_streams(js: JetStream) -> None:
    """Only those who copy the stream are held to it; the true one is different each time."""
    js.create("S", subjects=["s.>"])
    stranger = {"Nats-Stream-Identity": "x"}
    js.ok("CONSUMER.CREATE.S.C", body("S", {}), stranger)
    inbox = js._send("$JS.API.CONSUMER.CREATE.S.D", copier(), stranger)
    error = js._receive(inbox).json["error"]
    identity = error.pop("description").removeprefix("consumer's stream identity does not match: ")
    assert error == {"code": 400, "err_code": 10225}
    inbox = js._send("$JS.API.CONSUMER.CREATE.S.D", copier(), {"Nats-Stream-Identity": identity})
    assert js._receive(inbox).header("Nats-Stream-Identity") == identity


def copier() -> bytes:
    return json.dumps(body("S", {**PUSH, "direct": True})).encode()
