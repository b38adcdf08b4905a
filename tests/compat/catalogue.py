"""The data behind the page."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
OWN_ID = re.compile(r"X-\d{3}")


@dataclass(frozen=True)
class Behaviour:
    id: str
    area: str
    since: str
    statement: str


@dataclass(frozen=True)
class Difference:
    """`id` is a behaviour's, or X-nnn for what the catalogue does not speak of."""

    id: str
    theirs: str
    ours: str
    why: str


def read_rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def behaviours() -> dict[str, Behaviour]:
    rows = [Behaviour(**row) for row in read_rows("behaviours.csv")]
    known = {row.id: row for row in rows}
    if len(known) != len(rows):
        raise ValueError("behaviours.csv uses an id twice")
    return known


def differences(known: dict[str, Behaviour]) -> list[Difference]:
    rows = [Difference(**row) for row in read_rows("differences.csv")]
    unknown = [row.id for row in rows if row.id not in known and not OWN_ID.fullmatch(row.id)]
    if unknown:
        raise ValueError(f"differences.csv speaks of unknown behaviours: {', '.join(unknown)}")
    return rows
