"""Any tree survives being written and read; any bytes are either a configuration or refused."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.config import ConfigError
from tests.config.helper import tree

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool"

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
scalars = st.one_of(
    texts,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-1e15, 1e15).map(lambda number: round(number, 3)),
    st.booleans(),
)
keys = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True).filter(lambda k: k != "include")
trees: st.SearchStrategy[Tree] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)
styles = st.sampled_from([": ", " = ", " ", ":\t"])
ends = st.sampled_from(["\n", ", ", ";", " # comment\n", " // comment\n\n", "\r\n"])


@st.composite
def rendered(draw: st.DrawFn) -> tuple[str, dict[str, Tree]]:
    """A tree and one of the many ways to write it."""
    value = draw(st.dictionaries(keys, trees, max_size=5))

    def write(value: Tree) -> str:
        match value:
            case dict():
                entries = (
                    key(name) + draw(styles) + write(v) + draw(ends) for name, v in value.items()
                )
                return draw(st.sampled_from(["{", "{\n", "{ # comment\n"])) + "".join(entries) + "}"
            case list():
                commas = st.sampled_from([",", " ,\n", "\n", " // comment\n"])
                return "[" + "".join(write(item) + draw(commas) for item in value) + "]"
            case bool():
                return draw(st.sampled_from(["true", "Yes", "ON"] if value else ["false", "no"]))
            case str():
                return quoted(value)
            case float():
                return f"{value:.3f}"
        return str(value)

    def key(name: str) -> str:
        return draw(st.sampled_from([name, f'"{name}"', f"'{name}'"]))

    def quoted(text: str) -> str:
        if "'" not in text and draw(st.booleans()):
            return f"'{text}'"
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = "".join(key(name) + draw(styles) + write(v) + draw(ends) for name, v in value.items())
    return text, value


@given(rendered())
def test_a_written_tree_reads_back(case: tuple[str, dict[str, Tree]]) -> None:
    text, expected = case
    assert tree(text) == expected


@given(st.binary())
def test_random_bytes(data: bytes) -> None:
    parses_or_refuses(data)


@given(st.lists(st.sampled_from(
    ["a", "include", "x.conf", "$a", "$", "1", "-", ".5", "2026-", "1k", "true", ":", "=", " ", "\n",
     "\r\n", ",", ";", "{", "}", "[", "]", "(", ")", "'", '"', "\\", "\\x4", "#", "//", "/", "\xff"]
)))  # fmt: skip
def test_random_words_of_the_format(parts: list[str]) -> None:
    parses_or_refuses("".join(parts).encode("latin-1"))


def parses_or_refuses(data: bytes) -> None:
    try:
        tree(data, {"a": "$a"})
    except ConfigError:
        pass
