"""Accounts that do not fit together keep the server from starting, with the words of nats-server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.helper import Verdict, oracle, ours

U = "{user: a, password: a}"
NKEY = "UCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVZ45L"
ACCOUNT_KEY = "ADWUSKGGFDI4FRXK5EBTRECZSVQSSWJHHJOGH6JWG3AUMFFMQ435C2U4"


def users(*texts: str) -> str:
    return "authorization {users: [" + ", ".join(texts) + "]}"


def permissions(text: str) -> str:
    return users(f"{{user: a, password: a, permissions: {{{text}}}}}")


def accounts(**texts: str) -> str:
    return "accounts {" + ", ".join(f"{name} {{{text}}}" for name, text in texts.items()) + "}"


def two(exports: str, imports: str) -> str:
    """A exports, B imports, C is there too."""
    return accounts(A=f"exports: [{exports}]", B=f"imports: [{imports}]", C="")


def alone(kind: str) -> str:
    return accounts(
        A=f"exports: [{{{kind}: x}}], imports: [{{{kind}: {{account: A, subject: x}}}}]"
    )


X, Y = "{account: A, subject: x}", "{account: A, subject: y}"
CONFIGS = {
    "same_user_twice": users(U, "{user: a, password: b}"),
    "same_user_in_two_accounts": accounts(A=f"users: [{U}]", B=f"users: [{U}]"),
    "same_user_beside_accounts": accounts(A=f"users: [{U}]") + "\n" + users(U),
    "private_for_unknown_stream": two("{stream: x, accounts: [Z]}", f"{{stream: {X}}}"),
    "private_for_unknown_service": two("{service: x, accounts: [Z]}", f"{{service: {X}}}"),
    "private_stream": two("{stream: x, accounts: [C]}", f"{{stream: {X}}}"),
    "private_service": two("{service: x, accounts: [C]}", f"{{service: {X}}}"),
    "not_exported_stream": two("{stream: x}", f"{{stream: {Y}}}"),
    "not_exported_service": two("{service: x}", f"{{service: {Y}}}"),
    "stream_for_service": two("{stream: x}", f"{{service: {X}}}"),
    "wider_import": two('{stream: "x.*"}', '{stream: {account: A, subject: "x.>"}}'),
    "unknown_account": two("{stream: x}", "{stream: {account: Z, subject: x}}"),
    "import_of_oneself": alone("service"),
    "stream_import_of_oneself": alone("stream"),
    "service_cycle": """accounts {
  A {exports: [{service: x}], imports: [{service: {account: B, subject: x}}]}
  B {exports: [{service: x}], imports: [{service: {account: A, subject: x}}]}
}""",
    "service_cycle_of_three": """accounts {
  A {exports: [{service: help}], imports: [{service: {account: C, subject: help}}]}
  B {exports: [{service: help}], imports: [{service: {account: A, subject: help}}]}
  C {exports: [{service: help}], imports: [{service: {account: B, subject: help}}]}
}""",
    "service_cycle_by_wildcard": """accounts {
  A {exports: [{service: "x.>"}], imports: [{service: {account: B, subject: "x.y"}}]}
  B {exports: [{service: "x.*"}], imports: [{service: {account: A, subject: "x.y"}}]}
}""",
    "stream_cycle": """accounts {
  A {exports: [{stream: x}], imports: [{stream: {account: B, subject: x}}]}
  B {exports: [{stream: x}], imports: [{stream: {account: A, subject: x}}]}
}""",
    "duplicate_service_import": two(
        "{service: x}, {service: y}", f"{{service: {X}}}, {{service: {Y}, to: x}}"
    ),
    "overlapping_service_imports": two(
        '{service: "x.*"}',
        '{service: {account: A, subject: "x.*"}}, {service: {account: A, subject: "x.a"}}',
    ),
    "duplicate_stream_import": two("{stream: x}", f"{{stream: {X}}}, {{stream: {X}}}"),
    "bad_subject_permission": permissions('publish: "a..b"'),
    "bad_queue_permission": permissions('subscribe: "a b c"'),
    "queue_in_publish": permissions('publish: "a b"'),
    "bad_response_type": two("{service: x, response_type: many}", ""),
    "bad_sampling": two("{service: x, latency: {sampling: 101, subject: y}}", ""),
    "bad_mapping": 'mappings: {"a.*": "b.$2"}',
    "bad_mapping_function": 'mappings: {"a.*": "b.{{foo(1)}}"}',
    "bad_partition": 'mappings: {"a.*": "b.{{partition(3,2)}}"}',
    "weights_above_100": "mappings: {a: [{destination: b, weight: 60%}, {destination: c, weight: 50%}]}",
    "mapping_to_wildcard": 'mappings: {"a": "b.*"}',
    "mapping_duplicate": "mappings: {a: [{destination: b, weight: 10%}, {destination: b, weight: 20%}]}",
    "unknown_system_account": "accounts {A {}}\nsystem_account: Z",
    "global_as_system": "system_account: $G",
    "account_named_global": accounts(**{"$G": f"users: [{U}]"}),
    "account_named_system": accounts(**{"$SYS": f"users: [{U}]"}),
    "bad_nkey": users("{nkey: UABC}"),
    "nkey_and_password": users(f"{{nkey: {NKEY}, password: a}}"),
    "account_nkey_as_user": users(f"{{nkey: {ACCOUNT_KEY}}}"),
    "same_nkey_twice": users(f"{{nkey: {NKEY}}}", f"{{nkey: {NKEY}}}"),
    "bad_connection_type": users(U.replace("}", ", allowed_connection_types: [FOO]}")),
    "no_auth_user_unknown": accounts(A=f"users: [{U}]") + "\nno_auth_user: z",
    "position_of_no_wildcard": two("{stream: x, account_token_position: 1}", ""),
    "responses_false": permissions("allow_responses: false"),
}


# nats-server reads blocks in an order of chance, and finds the mistake on either side.
ANYWHERE = {"same_user_in_two_accounts", "same_user_beside_accounts", "nkey_and_password"}


def unplaced(verdict: Verdict) -> Verdict:
    return verdict._replace(lines=[line.partition(" ")[2] for line in verdict.lines])


@pytest.mark.behaviour("AUTH-029", "AUTH-033", "AUTH-048")
@pytest.mark.parametrize("name", CONFIGS)
def test_refusal(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("server.conf").write_text(CONFIGS[name])
    argv = ["-t", "-c", "server.conf"]
    expected, got = oracle(argv, tmp_path, {}), ours(argv, {})
    if name in ANYWHERE:
        expected, got = unplaced(expected), unplaced(got)
    assert got == expected
