"""The configuration format: what text becomes which tree, and where mistakes are reported."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jetstream_py import limits
from jetstream_py.config import ConfigError
from jetstream_py.config.digest import digest
from tests.config.helper import blocks, position, tree

KB = 1024
TREES: list[tuple[str, object]] = [
    ("a: 1\nb = 2\nc 3", {"a": 1, "b": 2, "c": 3}),
    ("a:1, b:2; c:3", {"a": 1, "b": 2, "c": 3}),
    ("a: 1 # x\nb: 2 // y\n# z\n//z\n", {"a": 1, "b": 2}),
    ("a: x#y\nb: x//y", {"a": "x#y", "b": "x//y"}),
    ("a { b { c: 1 } }", {"a": {"b": {"c": 1}}}),
    ("a\n{\n  b: 1\n}\n", {"a": {"b": 1}}),
    ("a: { b: 1, c: 2; d: 3 }", {"a": {"b": 1, "c": 2, "d": 3}}),
    ("a: [1, 2]\nb: [x\ny]\nc: [ # no\n1, // no\n]", {"a": [1, 2], "b": ["x", "y"], "c": [1]}),
    ("a: [{b: 1}, {b: 2}]\nc: [[1], []]", {"a": [{"b": 1}, {"b": 2}], "c": [[1], []]}),
    ('"a b": 1\n\'c\': 2', {"a b": 1, "c": 2}),
    ("a: 'x\\n'\nb: \"x\\n\\t\\r\\\"\\\\\\x41\"", {"a": "x\\n", "b": 'x\n\t\r"\\A'}),
    ("a: x\\ty", {"a": "x\ty"}),
    ("a: (\n x: 1\n)\nb: 2", {"a": "\n x: 1\n", "b": 2}),
    ("a: true\nb: YES\nc: on\nd: False\ne: no\nf: OFF",
     {"a": True, "b": True, "c": True, "d": False, "e": False, "f": False}),
    ('a: "true"\nb: truer', {"a": "true", "b": "truer"}),
    ("a: -1\nb: 1.5\nc: -1.5\nd: 007", {"a": -1, "b": 1.5, "c": -1.5, "d": 7}),
    ("a: 1k\nb: 1kb\nc: 1Ki\nd: 1KiB\ne: -1m", {"a": 1000, "b": KB, "c": KB, "d": KB, "e": -1000000}),
    ("a: 1g\nb: 1Gb\nc: 1Gib\nd: 1t\ne: 1pb\nf: 1e",
     {"a": 1000**3, "b": KB**3, "c": KB**3, "d": 1000**4, "e": KB**5, "f": 1000**6}),
    ("a: 127.0.0.1:4222\nb: 10s\nc: 4222:x\nd: a:4222",
     {"a": "127.0.0.1:4222", "b": "10s", "c": "4222:x", "d": "a:4222"}),
    ("a: 2026-01-02T03:04:05Z", {"a": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}),
    ("a: 1\nb: $a\nc { d: $a }", {"a": 1, "b": 1, "c": {"d": 1}}),
    ("a: 1\nc { a: 2, b: $a }", {"a": 1, "c": {"a": 2, "b": 2}}),
    ("a: $2a$11$x\nb: '$c'", {"a": "$2a$11$x", "b": "$c"}),
    ('{"a": 1, "b": [1, {"c": null}], "d": {"e": "f"}}',
     {"a": 1, "b": [1, {"c": "null"}], "d": {"e": "f"}}),
    ("A: 1\na: 2\na: 3", {"A": 1, "a": 3}),
    ("a:", {"a": ""}),
    ("a: é\n\"ü\": 'ß'", {"a": "é", "ü": "ß"}),
    ("a: 1\n}\n", {"a": 1}),
    ("", {}),
]  # fmt: skip


@pytest.mark.behaviour("CONF-001", "CONF-002", "CONF-007", "CONF-009", "CONF-010", "CONF-011")
@pytest.mark.parametrize(("text", "expected"), TREES)
def test_text_becomes_a_tree(text: str, expected: object) -> None:
    assert tree(text) == expected


ERRORS = [
    ("port: 4222\nzzz \"hi", "Parse error on line 2: 'Unexpected EOF.'"),
    ("a: {", "Parse error on line 1: 'Unexpected EOF processing map.'"),
    ("a: [1 2]",
     'Parse error on line 1: \'Expected an array value terminator "," or an array terminator "]", '
     "but got '2' instead.'"),
    ("a: 1 b: 2",
     "Parse error on line 1: 'Expected a top-level value to end with a new line, comment or EOF, "
     "but got 'b' instead.'"),
    ("\n\n= 1", "Parse error on line 3: 'Unexpected key separator '=''"),
    ("a: \n1", "Parse error on line 2: 'Expected value but found new line'"),
    ("a: .5", "Parse error on line 1: 'Floats must start with a digit'"),
    ("a: -x", "Parse error on line 1: 'Expected a digit but got 'x'.'"),
    ('a: "\\q"',
     "Parse error on line 1: 'Invalid escape character 'q'. Only the following escape characters "
     "are allowed: \\xXX, \\t, \\n, \\r, \\\", \\\\.'"),
    ("a", "config is invalid (test.conf:1:1)"),
    ("a: 9223372036854775808", "integer '9223372036854775808' is out of the range"),
    ("a: " + "9" * 5000, "integer '" + "9" * 5000 + "' is out of the range"),
    ("a: 100e", "integer '100e' is out of the range"),
    ("a: 1kbb", "Parse error on line 1: 'Unknown size suffix 'kbb'.'"),
    ("a: 2026-13-02T03:04:05Z",
     "expected Zulu formatted DateTime, but got '2026-13-02T03:04:05Z'"),
    ("x { a: }", "Parse error on line 1: 'Expected a value for 'a' but found the end of the block.'"),
    ("a: x\0", "Parse error on line 1: 'Unexpected EOF.'"),
]  # fmt: skip


@pytest.mark.behaviour("CONF-012")
@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        tree(text)
    assert str(caught.value) == message


def test_positions_of_keys_and_items() -> None:
    content = blocks(b'a: 1\n  b: {"c": [x, "y"]}\n', {}, {})
    assert position(content["a"]) == "test.conf:1:0"
    assert position(content["b"]) == "test.conf:2:3"
    inner = content["b"].data
    assert isinstance(inner, dict)
    assert position(inner["c"]) == "test.conf:2:8"
    items = inner["c"].data
    assert isinstance(items, list)
    assert [position(item) for item in items] == ["test.conf:2:13", "test.conf:2:17"]


def test_bytes_that_are_no_utf8_pass_through() -> None:
    assert tree(b'a: "\\xff"\nb: \xfe') == {"a": "\udcff", "b": "\udcfe"}


@pytest.mark.behaviour("CONF-004")
def test_include() -> None:
    files = {"b.conf": "b: 1\ninclude c.conf", "c.conf": "c: 2"}
    assert tree("a: 0\ninclude b.conf", files=files) == {"a": 0, "b": 1, "c": 2}
    assert tree("a { include 'c.conf'; d: 3 }", files=files) == {"a": {"c": 2, "d": 3}}
    assert tree('c: 1\ninclude "c.conf"\n', files=files) == {"c": 2}
    assert tree("include c.conf\nc: 1", files=files) == {"c": 1}


def test_include_errors_name_the_file() -> None:
    with pytest.raises(ConfigError, match=r"^error parsing include file 'x', open x: no such file"):
        tree("include x")
    with pytest.raises(ConfigError, match=r"'x', Parse error on line 2: 'Expected value but"):
        tree("include x", files={"x": "a:\n"})
    with pytest.raises(ConfigError, match="start of an array"):
        tree("include [x]")


def test_include_cycles_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"includes itself: test.conf -> x -> y -> x$"):
        tree("include x", files={"x": "include y", "y": "include x"})


def test_variables_of_the_including_file_are_not_seen() -> None:
    with pytest.raises(ConfigError, match="can not be found"):
        tree("a: 1\ninclude x", files={"x": "b: $a"})


@pytest.mark.behaviour("CONF-005")
def test_variables_come_from_the_environment_last() -> None:
    environ = {"a": "2", "LIST": "[x, y]", "TEXT": "'x y'", "EMPTY": ""}
    assert tree("b: $a", environ) == {"b": 2}
    assert tree("a: 1\nb: $a", environ) == {"a": 1, "b": 1}
    assert tree("b: $LIST\nc: $TEXT\nd: $EMPTY", environ) == {"b": ["x", "y"], "c": "x y", "d": ""}


@pytest.mark.behaviour("CONF-006")
def test_missing_variable() -> None:
    with pytest.raises(ConfigError) as caught:
        tree("a: 1\nb: $c\nc: 2")
    assert str(caught.value) == "variable reference for 'c' on line 2 can not be found"
    with pytest.raises(
        ConfigError, match="'A' on line 1 could not be parsed: Parse error on line 1"
    ):
        tree("a: $A", {"A": "x y"})
    with pytest.raises(ConfigError, match="could not be parsed"):
        tree("a: $A", {"A": "$A"})


def test_depth_is_bounded() -> None:
    deep = limits.CONFIG_DEPTH
    tree("a: " + "[" * deep + "]" * deep)
    with pytest.raises(ConfigError, match="More than 64 levels"):
        tree("a: " + "[" * (deep + 1) + "]" * (deep + 1))
    with pytest.raises(ConfigError, match="More than 64 levels"):
        tree("a {" * 100_000)


def test_size_is_bounded() -> None:
    with pytest.raises(ConfigError, match="larger than"):
        tree(b" " * (limits.CONFIG_FILE_SIZE + 1))


def test_variables_cannot_blow_up() -> None:
    lines = [f"a0: {'x' * 1000}"] + [f"a{n}: [{f'$a{n - 1},' * 10}]" for n in range(1, 10)]
    content = blocks("\n".join(lines).encode(), {}, {})
    with pytest.raises(ConfigError, match="too large once its variables are replaced"):
        digest(content)


def test_digest_does_not_depend_on_layout() -> None:
    one = digest(blocks(b"port: 4222\ndebug: yes # x", {}, {}))
    other = digest(blocks(b'{"debug": true, "port": 4222}', {}, {}))
    assert one == other
    assert one.startswith("sha256:")
