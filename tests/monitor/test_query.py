"""Query strings."""

from __future__ import annotations

import pytest

from jetstream_py.server.monitor.query import BadRequest, boolean, integer, parse_query, unsigned


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ("", {}),
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("a=1&a=2", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=+5", {"a": " 5"}),
        ("%61=%2B", {"a": "+"}),
        ("a=%zz&b=2", {"b": "2"}),
        ("a=1%", {}),
        ("a=1;b=2&c=3", {"c": "3"}),
        ("a=%ff%E2%82%AC", {"a": "\udcff€"}),
    ],
)
def test_broken_pairs_are_skipped(raw: str, query: dict[str, str]) -> None:
    assert parse_query(raw) == query


def test_missing_and_empty_are_the_default() -> None:
    assert (boolean({}, "x"), integer({"x": ""}, "x"), unsigned({"x": ""}, "x")) == (False, 0, 0)


def test_values() -> None:
    query = {"b": "T", "i": "-3", "u": "3"}
    assert (boolean(query, "b"), integer(query, "i"), unsigned(query, "u")) == (True, -3, 3)


def test_the_complaint_names_the_argument() -> None:
    with pytest.raises(BadRequest) as complaint:
        integer({"limit": "x"}, "limit")
    assert str(complaint.value) == (
        """Error decoding int for 'limit': strconv.Atoi: parsing "x": invalid syntax"""
    )
