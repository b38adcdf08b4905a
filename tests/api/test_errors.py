from __future__ import annotations

import pytest

from jetstream_py.api.errors import E, error
from jetstream_py.api.responses import encode


def test_the_table_is_whole() -> None:
    assert len(E) == 226
    codes = [member.value[0] for member in E]
    assert codes == sorted(set(codes))
    assert (codes[0], codes[-1]) == (10002, 10227)


def test_one_error_by_three_names() -> None:
    for name in (E.STREAM_NOT_FOUND, 10059, "STREAM_NOT_FOUND"):
        fault = error(name)
        assert (fault.code, fault.err_code, str(fault)) == (404, 10059, "stream not found")


@pytest.mark.parametrize(
    ("which", "values", "text"),
    [
        (10043, {"seq": 102}, "sequence 102 not found"),
        (10025, {"err": "{seq}"}, "invalid JSON: {seq}"),
        (
            10021,
            {"prefix": "a", "subject": "b"},
            "stream external api prefix a must not overlap with b",
        ),
    ],
)
def test_blanks_are_filled(which: int, values: dict[str, object], text: str) -> None:
    assert error(which, **values).description == text


def test_json() -> None:
    assert encode(error(10071, seq="<3>").body) == (
        b'{"code":400,"err_code":10071,"description":"wrong last sequence: \\u003c3\\u003e"}'
    )
