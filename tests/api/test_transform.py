"""Subject transforms that nats-server takes, and its words for those that it does not."""

from __future__ import annotations

import json
import random
from typing import Final

from jetstream_py.api.stream_config import Rules
from tests.api.oracle import Oracle, created

# source, destination
TABLE: Final = tuple(
    tuple(line.split("|"))
    for line in r"""
a.*|b.{{wildcard(1)}}
a.*|b.$1
a.*|b.$2
a.*|b.$0
a.*|b.$x
a.*|b.$
a.*|b.$-1
a.*|b.$99999999999999999999
a.*|b.*
a.*|b
a.*.*|$2.$1.$3
a|b.$1
a|b.$0
a|b.*
a|b.>
a.>|b.>
a.>|b
a.>|$1.>
a.>|b.>.c
a.*.>|b.$1.>
a.*.>|b.$1.$2.>
>|>
*|>
|b
|b.>
|
a|
a..b|c
a b|c
a>|b.>
a.>.b|c
a|c..d
a|c d
a|.c
a|c.
a.*|b.x*
a.*|b.x{{wildcard(1)}}
a.*|b.{{wildcard(1)
a.*|b.{{}}
a.*|b.{{  }}
a.*|b.{{wildcard}}
a.*|b.{{wildcard 1}}
a.*|b.{{ wildcard( 1 ) }}
a.*|b.{{WILDCARD(1)}}
a.*|b.{{bogus(1)}}
a.*|b.{{wildcard(0)}}
a.*|b.{{wildcard(2)}}
a.*|b.{{wildcard(x)}}
a.*|b.{{wildcard()}}
a.*|b.{{wildcard(1,2)}}
a.*|b.{{wildcard(,)}}
a.*|b.{{wildcard()()}}
a.*|b.{{wildcard(1)x}}
a.*|b.{{wildcard(1.5)}}
a.*|b.{{wildcard(9999999999999999999)}}
a.*|b.{{partition(3,1)}}
a.*|b.{{partition(3)}}
a.*|b.{{partition(3,1,2)}}
a.*|b.{{partition(3,)}}
a.*|b.{{partition(3,x)}}
a.*|b.{{partition()}}
a.*|b.{{Partition( 3, 1)}}
a.*|b.{{partition(2147483647,1)}}
a.*|b.{{partition(2147483648,1)}}
a|b.{{partition(3,5)}}
a|b.{{partition(x)}}
a.*|b.{{split(1,-)}}
a.*|b.{{split(1,- )}}
a.*|b.{{split(1,)}}
a.*|b.{{split(1)}}
a.*|b.{{split(1,-,x)}}
a.*|b.{{split(2,-)}}
a.*|b.{{split(x,-)}}
a|b.{{split(1,-)}}
a.*|b.{{splitFromLeft(1,2)}}
a.*|b.{{SplitFROMLeft(1,2)}}
a.*|b.{{splitfromright(1,2)}}
a.*|b.{{SliceFromLeft(1,2)}}
a.*|b.{{slicefromright(1)}}
a.*|b.{{left(1,2)}}
a.*|b.{{left(1,x)}}
a.*|b.{{left(2,1)}}
a.*|b.{{left(1,2147483648)}}
a.*|b.{{left(1,2,3)}}
a.*|b.{{right(1,2)}}
a|b.{{left(1,2)}}
a.*|b.{{random(5)}}
a.*|b.{{random()}}
a.*|b.{{random(x)}}
a.*|b.{{random(1,2)}}
a|b.{{random(3)}}
""".strip("\n").split("\n")
)
SOURCES: Final = ("a", "b", "*", "*", ">")
TOKENS: Final = (
    *("a", "*", ">", "$1", "$2", "", "x y", "{{wildcard(1)}}", "{{wildcard(x)}}", "{{bogus(1)}}"),
    *("{{partition(2,2)}}", "{{left(1,1)}}", "{{random(1)}}"),
)


def different(oracle: Oracle, pairs: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    found = []
    for source, destination in pairs:
        name = oracle.fresh_name()
        transform = {"src": source, "dest": destination}
        body = json.dumps({"name": name, "subject_transform": transform})
        theirs = oracle.config("CREATE", name, body)
        if "err_code" not in theirs:
            oracle.delete(name)
        if (ours := created(body, Rules())) != theirs:
            found.append((body, theirs, ours))
    return found


def test_table(jetstream: Oracle) -> None:
    assert different(jetstream, [(source, destination) for source, destination in TABLE]) == []


def test_tokens_in_any_order(jetstream: Oracle) -> None:
    rng = random.Random(2151)
    pairs = [
        (
            ".".join(rng.choices(SOURCES, k=rng.randint(1, 3))),
            ".".join(rng.choices(TOKENS, k=rng.randint(1, 3))),
        )
        for _ in range(300)
    ]
    assert different(jetstream, pairs) == []
