"""Configurations that ask for credentials, beside blocks that have nothing to do with it."""

from __future__ import annotations

import bcrypt

HASH = bcrypt.hashpw(b"s3cret", bcrypt.gensalt(4, b"2a")).decode()
NKEY = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
USER = "{user: alice, password: s3cret}"
GUEST = '{user: guest, password: guest, permissions: {publish: {deny: ">"}}}'

AUTH = {
    "users": f"authorization {{ users: [{USER}] }}",
    "single user": "authorization { user: alice, password: s3cret }",
    "token": "authorization { token: t0ken }",
    "hash": f'authorization {{ users: [{{user: alice, password: "{HASH}"}}] }}',
    "nkey": f"authorization {{ users: [{{nkey: {NKEY}}}] }}",
    "account": f"accounts {{ A {{ users: [{USER}] }} \nB {{}} }}",
    "system account only": f"accounts {{ SYS {{ users: [{USER}] }} }}\nsystem_account: SYS",
    "guest": f"authorization {{ users: [{USER}, {GUEST}] }}\nno_auth_user: guest",
    "guest of an account": f"accounts {{ A {{ users: [{USER}, {GUEST}] }} }}\nno_auth_user: guest",
}
BESIDE = {
    "websocket": "websocket { listen: '127.0.0.1:-1', no_tls: true }",
    "websocket with a user": "websocket { listen: '127.0.0.1:-1', no_tls: true,"
    " authorization { username: web, password: web } }",
    "websocket with cookies": "websocket { listen: '127.0.0.1:-1', no_tls: true,"
    " user_cookie: u, pass_cookie: p }",
    "tls": "tls { TLS }",
    "tls or not": "tls { TLS }\nallow_non_tls: true",
    "jetstream": "jetstream { store_dir: STORE }",
    "mappings": "mappings { a: b }",
    "websocket for a guest": "websocket { listen: '127.0.0.1:-1', no_tls: true,"
    " no_auth_user: guest }",
}
EVERYTHING = ("websocket", "tls or not", "jetstream", "mappings")
PAIRS = [
    *((auth, EVERYTHING) for auth in AUTH),
    ("users", ("websocket with cookies",)),
    ("users", ("tls",)),
    ("single user", ("websocket with a user",)),
    ("two users", ("websocket for a guest",)),
]
AUTH["two users"] = f"authorization {{ users: [{USER}, {GUEST}] }}"


def config(auth: str, beside: tuple[str, ...], tls: str, store: str) -> str:
    text = "\n".join([AUTH[auth], *(BESIDE[name] for name in beside)])
    return text.replace("TLS", tls).replace("STORE", f'"{store}"')
