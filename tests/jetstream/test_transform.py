"""Subject transforms on the way into a stream, every function of a destination."""

from __future__ import annotations

import signal

import pytest

from tests.jetstream.support import STORAGES, JetStream, OwnServer, own_server, scenario

SUBJECTS = (
    "a.foo.bar",
    "a.a-b-c.x",
    "a.-x--y-.q",
    "a.-.q",
    "a.bb.q",
    "a.foo",
    "b",
    "a.ab.cdefg.h",
    "a.grün.ß",
)
CUTS = ("splitfromleft", "splitFromRight", "SliceFromLeft", "slicefromright", "left", "Right")
LENGTHS = (1, 2, 3, 0, -1, 99)
TRANSFORMS = [
    ("a.*.*", "z.{{wildcard(2)}}.$1"),
    ("a.*.*", "z.{{ Wildcard( 2 ) }}"),
    ("a.*", "z.$1.$1"),
    ("a.>", "z.>"),
    (">", "z.>"),
    ("", "z.>"),
    ("a.*.>", "z.$1.>"),
    ("a.foo", "b"),
    ("a.foo", "z.{{partition(10)}}"),
    ("a.foo", "z.{{random(1)}}"),
    ("a.*.*", "z.$1x"),
    ("a.*.*", "z.$0.{{wildcard(0)}}.{{wildcard(-1)}}"),
    ("a.*.*", "z.{{partition(10,1,2)}}.{{partition(10,2,1)}}.{{partition(10,2)}}"),
    ("a.*.*", "z.{{partition(10)}}"),
    ("a.>", "z.{{partition(10)}}.>"),
    ("a.*.*", "z.{{partition(1,1)}}.{{partition(0,1)}}.{{partition(-3,1)}}"),
    ("a.*.*", "z.{{random(1)}}.{{random(0)}}.{{random(-1)}}"),
    ("a.*.*", "z.{{split(1,-)}}.$2"),
    ("a.*.*", "z.{{split(1,--)}}.$2"),
    ("a.*.*", "z.{{split(1,b)}}.$2"),
    *[
        ("a.*.*", f"z.{{{{{cut}(1,{length})}}}}.{{{{{cut}(2,{length})}}}}")
        for cut in CUTS
        for length in LENGTHS
    ],
]


@pytest.mark.parametrize(("source", "destination"), TRANSFORMS)
@scenario("PUB-101", "AUTH-036", "AUTH-040")
def test_transform(js: JetStream, source: str, destination: str) -> None:
    transform = {"src": source, "dest": destination}
    js.create("S", subjects=["a.>", "b"], subject_transform=transform)
    for subject in SUBJECTS:
        seq = js.publish(subject, b"x")["seq"]
        js.note(js.message("S", seq=seq)["subject"])
    js.subjects("S")


@pytest.mark.parametrize("number", [3, -3])
@scenario("AUTH-040")
def test_random_stays_below_its_number(js: JetStream, number: int) -> None:
    """Off the record, as it is chance; that one of three is missing after 60 is not."""
    transform = {"src": "a.*", "dest": f"z.{{{{random({number})}}}}"}
    js.ask("STREAM.CREATE.S", {"name": "S", "subjects": ["a.*"], "subject_transform": transform})
    for _ in range(60):
        js._receive(js._send("a.1"))
    found = js.ask("STREAM.INFO.S", {"subjects_filter": ">"})["state"]["subjects"]
    assert set(found) == {"z.0", "z.1", "z.2"}


@STORAGES
@scenario("PUB-101")
def test_limits_and_expectations_see_the_new_subject(js: JetStream, storage: str) -> None:
    js.create(
        "S", subjects=["a.*.*"], subject_transform={"src": "a.*.*", "dest": "z.$1"},
        max_msgs_per_subject=2, storage=storage, allow_rollup_hdrs=True, allow_direct=True,
    )  # fmt: skip
    js.publish_all("a.x.1", "a.x.2", "a.x.3", "a.y.1")
    assert js.subjects("S") == {"z.x": 2, "z.y": 1}
    js.publish("a.x.9", b"x", {"Nats-Expected-Last-Subject-Sequence": "3"})
    js.publish_refused("a.y.9", b"x", {"Nats-Expected-Last-Subject-Sequence": "3"})
    js.publish("a.x.0", b"all", {"Nats-Rollup": "sub"})
    assert js.subjects("S") == {"z.x": 1, "z.y": 1}
    assert js.request("$JS.API.DIRECT.GET.S.z.x").data == b"all"


@scenario("PUB-101")
def test_core_subscribers_see_the_subject_that_was_published(js: JetStream) -> None:
    js.create("S", subjects=["a.*"], subject_transform={"src": "a.*", "dest": "z.$1"})
    js.listen("a.*", "z.*")
    js.publish("a.1", b"x")
    assert [message.subject for message in js.heard(1)] == ["a.1"]
    js.heard_nothing()


@scenario("PUB-101")
def test_an_update_changes_what_comes_next(js: JetStream) -> None:
    js.create("S", subjects=["a.*"], subject_transform={"src": "a.*", "dest": "y.$1"})
    js.publish("a.1")
    js.update("S", subjects=["a.*"], subject_transform={"src": "a.*", "dest": "z.$1"})
    js.publish("a.1")
    js.update("S", subjects=["a.*"])
    js.publish("a.1")
    assert js.subjects("S") == {"y.1": 1, "z.1": 1, "a.1": 1}


@own_server("PUB-101")
def test_a_restart_keeps_it(js: OwnServer) -> None:
    js.create("S", subjects=["a.*"], subject_transform={"src": "a.*", "dest": "z.$1"})
    js.publish("a.1")
    js.restart(signal.SIGKILL)
    js.publish("a.1")
    assert js.subjects("S") == {"z.1": 2}
