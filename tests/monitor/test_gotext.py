"""Go's text forms."""

from __future__ import annotations

import pytest

from jetstream_py import gotext

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (785_000, "785µs"),
        (1_391_662, "1.391662ms"),
        (1_545_380, "1.54538ms"),
        (12_000_000, "12ms"),
        (900_366_252, "900.366252ms"),
        (1_500_000_000, "1.5s"),
        (90 * SECOND, "1m30s"),
        (3600 * SECOND, "1h0m0s"),
        (100 * 3600 * SECOND + 1, "100h0m0.000000001s"),
        (-1_500, "-1.5µs"),
    ],
)
def test_duration(ns: int, text: str) -> None:
    assert gotext.duration(ns) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (0.999, "0s"),
        (59, "59s"),
        (60, "1m0s"),
        (125, "2m5s"),
        (3723, "1h2m3s"),
        (86_400, "1d0h0m0s"),
        (93_784, "1d2h3m4s"),
        (366 * 86_400 + 1, "1y1d0h0m1s"),
    ],
)
def test_uptime(seconds: float, text: str) -> None:
    assert gotext.uptime(round(seconds * SECOND)) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_700_000_000 * SECOND, "2023-11-14T22:13:20Z"),
        (1_700_000_000 * SECOND + 120_000_000, "2023-11-14T22:13:20.12Z"),
        (1_700_000_000 * SECOND + 1, "2023-11-14T22:13:20.000000001Z"),
    ],
)
def test_points_in_time_lose_the_zeros_at_the_end(ns: int, text: str) -> None:
    assert gotext.rfc3339_nano(ns) == text


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-12", -12), ("+7", 7), ("9223372036854775807", 2**63 - 1)]
)
def test_atoi(text: str, value: int) -> None:
    assert gotext.atoi(text) == value


@pytest.mark.parametrize("text", ["", "x", "1.5", "0x10", "1_0", " 5", "5 ", "٣", "--1", "1\n"])
def test_atoi_takes_decimal_digits_only(text: str) -> None:
    with pytest.raises(ValueError, match=r"^strconv\.Atoi: parsing .*: invalid syntax$"):
        gotext.atoi(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 5000])
def test_atoi_stays_in_64_bits(text: str) -> None:
    with pytest.raises(ValueError, match=r"^strconv\.Atoi: parsing .*: value out of range$"):
        gotext.atoi(text)


def test_unsigned() -> None:
    assert gotext.parse_uint64("18446744073709551615") == 2**64 - 1
    with pytest.raises(ValueError, match="value out of range"):
        gotext.parse_uint64("18446744073709551616")
    with pytest.raises(ValueError, match=r'strconv\.ParseUint: parsing "-1": invalid syntax'):
        gotext.parse_uint64("-1")


def test_booleans() -> None:
    assert [gotext.parse_bool(text) for text in ("1", "t", "T", "true", "True", "TRUE")] == [
        True
    ] * 6
    assert not any(gotext.parse_bool(text) for text in ("0", "f", "F", "false", "False", "FALSE"))
    with pytest.raises(ValueError, match=r'strconv\.ParseBool: parsing "yes": invalid syntax'):
        gotext.parse_bool("yes")


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("x", '"x"'),
        ('"\\', r'"\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("\udcff", r'"\xff"'),
        ("€ ü", '"€ ü"'),
        ("\u00ad\U000e0001", r'"\u00ad\U000e0001"'),
    ],
)
def test_quote(text: str, literal: str) -> None:
    assert gotext.quote(text) == literal


def test_each_byte_that_is_not_utf8_is_one_replacement() -> None:
    assert gotext.utf8(b"a\xff\xe2\x82.\xe2\x82\xac") == "a\ufffd\ufffd\ufffd.€"


def test_json_escapes() -> None:
    assert gotext.escape_json('"<b>&\u2028\u2029€"'.encode()) == (
        b'"\\u003cb\\u003e\\u0026\\u2028\\u2029\xe2\x82\xac"'
    )


def test_whole_floats_lose_their_point() -> None:
    assert repr(gotext.number(2.0)) == "2"
    assert repr(gotext.number(1.5)) == "1.5"
