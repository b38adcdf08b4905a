"""Requests made from the OpenAPI document by schemathesis, right and wrong ones: no failure of ours, no
answer that the document does not describe."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.openapi import from_dict
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.gateway.place import Place

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
FEW = {"bucket": ["b", "gone"], "key": ["a", "b/c"], "name": ["x", "y z"], "stream": ["S", "N"]}
ENDLESS = ("watch", "follow")


def near(document: dict[str, Any]) -> dict[str, Any]:
    """The document with few names, so that requests find something, and without what does not end."""
    for item in document["paths"].values():
        for each in item.get("parameters", ()):
            each["schema"] = {"type": "string", "enum": FEW[each["name"]]}
        for name, part in item.items():
            if name != "parameters" and "parameters" in part:
                part["parameters"] = [x for x in part["parameters"] if x["name"] not in ENDLESS]
    return document


def play(place: Place, examples: int) -> set[int]:
    """So many requests of each kind; returns the statuses of the answers."""
    for path in ("/v1/kv/b", "/v1/objects/b"):
        place.ask("PUT", path)
    place.run(place.js().create_stream({"name": "S", "subjects": ["s"]}))
    place.ask("PUT", "/v1/kv/b/a", b"1")
    place.ask("PUT", "/v1/objects/b/x", b"1")
    seen: set[int] = set()

    def check(case: Case[Any]) -> None:
        call = asyncio.to_thread(case.call_and_validate, base_url=place.url, checks=CHECKS)
        seen.add(place.run(call).status_code)

    bounded = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    document = near(place.ask("GET", "/v1/openapi.json").json)
    for found in from_dict(document).get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in GenerationMode:
            with suppress(Unsatisfiable):  # what takes no arguments cannot have wrong ones
                run: Any = given(operation.as_strategy(generation_mode=mode))(check)
                bounded(run)()
    return seen
