"""Every token is judged by nats-server and by us: the same verdict, for the same reason, and when it
is a good one the same permissions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from jetstream_py.config.account_options import Permissions, Rule, User
from jetstream_py.jwt import OperatorMode, Refusal, expiry
from tests.jwt.cases import CASES, chain
from tests.jwt.world import INFO, Chain, attempt, judge, reason, request
from tests.support.raw import RawClient
from tests.support.server import ORACLE, OURS, Server, Servers

DIED = "maximum subscriptions exceeded"  # a user without a limit may not subscribe at all
# Some signatures look the same in both spellings of base64, so these two depend on the nonce.
BY_NONCE = {"signature for URLs, padded", "signature in plain base64, not padded"}


@pytest.fixture(scope="module")
def made() -> Chain:
    return chain()


@pytest.fixture(scope="module")
def mode(made: Chain) -> OperatorMode:
    return made.mode()


@pytest.fixture(scope="module")
def real(made: Chain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Servers(tmp_path_factory.mktemp("oracle")) as servers:
        yield servers.start(ORACLE, made.config(), ["-D"])


@pytest.fixture(scope="module")
def mine(made: Chain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Servers(tmp_path_factory.mktemp("ours")) as servers:
        yield servers.start(OURS, made.config())


@pytest.mark.parametrize("name", [name for name in CASES if name not in BY_NONCE])
def test_answer(name: str, made: Chain, mine: Server, real: Server) -> None:
    """Over the wire: what the client is told, who it is then."""
    login = CASES[name](made)
    seen = []
    for server in (real, mine):
        client, answer = attempt(server, login)
        with client:
            info = _info(client) if not answer and not client.eof else None
            seen.append((answer, _steady(info) if info else None))
    assert seen[0] == seen[1]


def _steady(info: dict[str, Any]) -> dict[str, Any]:
    """Without the order of permissions, and the time that passes between two questions."""
    info["permissions"] = sorted_permissions(info.get("permissions"))
    info["expires"] = round(info.get("expires", 0) / 60e9)
    return info


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str, made: Chain, mode: OperatorMode, real: Server) -> None:
    login = CASES[name](made)
    client, answer = attempt(real, login)
    verdict = judge(mode, login, client.info["nonce"])
    with client:
        if b"Authorization Violation" in answer:
            assert isinstance(verdict, Refusal)
            assert verdict.reason == reason(real, client)
            assert answer == f"-ERR '{verdict.answer}'\r\n".encode()
            return
        assert isinstance(verdict, User), verdict
        if DIED.encode() in answer:
            assert verdict.max_subscriptions == 0
            return
        assert answer == b""
        compare(verdict, _info(client), mode)


def compare(user: User, info: dict[str, Any] | None, mode: OperatorMode) -> None:
    if info is None:  # it may not even ask
        assert user.permissions is not None
        assert user.permissions.publish is not None
        return
    assert (user.nkey, user.account) == (info["user"], info["account"])
    assert user.name == info.get("user_name", "")
    assert shown(user.permissions) == sorted_permissions(info.get("permissions"))
    ends, said = expiry(user, mode.now()), info.get("expires")
    assert (ends is None) == (said is None)
    if ends is not None and said is not None:
        assert abs(mode.now() + said / 1e9 - ends) < 60


def _info(client: RawClient) -> dict[str, Any] | None:
    body = request(client, INFO)
    if not body.startswith(b"{"):
        return None
    data: dict[str, Any] = json.loads(body)["data"]
    return data


def sorted_permissions(info: dict[str, Any] | None) -> dict[str, Any] | None:
    if info is None:
        return None
    rules = {
        name: {kind: sorted({*subjects}) for kind, subjects in info[name].items()}
        for name in ("publish", "subscribe")
    }
    return {**info, **rules}


def shown(permissions: Permissions | None) -> dict[str, Any] | None:
    """As nats-server shows them."""
    if permissions is None:
        return None
    found: dict[str, Any] = {
        "publish": _rule(permissions.publish),
        "subscribe": _rule(permissions.subscribe),
    }
    if given := permissions.responses:
        ttl = round(given.expires * 1e9)
        found["responses"] = {"max": given.max, "ttl": ttl}
    return found


def _rule(rule: Rule | None) -> dict[str, list[str]]:
    if rule is None:
        return {}
    kinds = {"allow": sorted(rule.allow or ()), "deny": sorted(rule.deny)}
    return {kind: subjects for kind, subjects in kinds.items() if subjects}
