"""Tokens as files: what is kept, what is forgotten, and which names are touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jetstream_py import limits
from jetstream_py.config.account_options import Operator as OperatorOptions
from jetstream_py.jwt.directory import Directory
from jetstream_py.jwt.resolver import ResolverError
from tests.support.tokens import Account, Operator

OPERATOR = Operator(seed=b"\1" * 32)
ACCOUNTS = [Account(OPERATOR, f"A{at}", bytes([at + 1]) * 32) for at in range(4)]
FIRST, SECOND, THIRD, FOURTH = (account.public for account in ACCOUNTS)


def directory(path: Path, now: float = 0.0, **settings: object) -> Directory:
    options = OperatorOptions(**{"resolver": "full", "directory": str(path), **settings})  # type: ignore[arg-type]
    return Directory(options, now)


def test_kept_across_a_restart(tmp_path: Path) -> None:
    store = directory(tmp_path / "new" / "dir")
    store.store(FIRST, "one", 0)
    store.store(FIRST, "two", 0)
    store.store(SECOND, "three", 0)
    again = directory(tmp_path / "new" / "dir")
    assert again.accounts() == sorted([FIRST, SECOND])
    assert again.fetch(FIRST, 0) == "two"
    assert again.fetch(THIRD, 0) is None
    assert again.digest() == store.digest() != bytes(32)
    assert {*again.tokens()} == {(FIRST, "two"), (SECOND, "three")}
    assert oct((tmp_path / "new" / "dir" / f"{FIRST}.jwt").stat().st_mode)[-3:] == "600"


def test_other_files_are_none_of_its_business(tmp_path: Path) -> None:
    (tmp_path / "x.jwt").write_text("x")
    (tmp_path / f".{FIRST}").write_text("half")
    (tmp_path / f"{SECOND}.jwt.deleted").write_text("gone")
    (tmp_path / f"{THIRD}.jwt").mkdir()
    (tmp_path / f"{FOURTH}.jwt").write_bytes(b"\xff")
    assert directory(tmp_path).accounts() == []


@pytest.mark.parametrize(
    "name", ["", ".", "../x", "a/b", "junk", FIRST[:-1], FIRST + "/", f"../{FIRST}"]
)
def test_a_name_is_a_key(tmp_path: Path, name: str) -> None:
    store = directory(tmp_path / "dir")
    with pytest.raises(ResolverError, match="invalid public key"):
        store.store(name, "x", 0)
    store.delete(name)
    assert store.fetch(name, 0) is None
    assert os.listdir(tmp_path) == ["dir"]
    assert os.listdir(tmp_path / "dir") == []


def test_preload_does_not_undo_a_push(tmp_path: Path) -> None:
    account = ACCOUNTS[0]
    old, new = account.jwt(iat=5), account.jwt(iat=6)
    store = directory(tmp_path, preload=((FIRST, old),))
    assert store.fetch(FIRST, 0) == old
    store.store(FIRST, new, 0)
    assert directory(tmp_path, preload=((FIRST, old),)).fetch(FIRST, 0) == new
    newest = account.jwt(iat=7)
    assert directory(tmp_path, preload=((FIRST, newest),)).fetch(FIRST, 0) == newest


def test_a_full_one_is_full(tmp_path: Path) -> None:
    store = directory(tmp_path, limit=2)
    store.store(FIRST, "1", 0)
    store.store(SECOND, "2", 0)
    with pytest.raises(ResolverError, match="jwt store is full"):
        store.store(THIRD, "3", 0)
    store.store(FIRST, "4", 0)
    store.delete(FIRST)
    store.store(THIRD, "3", 0)
    assert store.accounts() == sorted([SECOND, THIRD])
    assert (tmp_path / f"{FIRST}.jwt.deleted").read_text() == "4"


def test_a_cache_forgets_the_longest_unused(tmp_path: Path) -> None:
    store = directory(tmp_path, resolver="cache", limit=2)
    store.store(FIRST, "1", 0)
    store.store(SECOND, "2", 1)
    store.fetch(FIRST, 2)
    store.store(THIRD, "3", 3)
    assert store.accounts() == sorted([FIRST, THIRD])
    assert sorted(os.listdir(tmp_path)) == sorted([f"{FIRST}.jwt", f"{THIRD}.jwt"])


def test_a_cache_forgets_after_a_time(tmp_path: Path) -> None:
    store = directory(tmp_path, resolver="cache", ttl=10.0)
    store.store(FIRST, "1", 0)
    store.store(SECOND, "2", 0)
    assert store.fetch(FIRST, 9) == "1"
    assert store.fetch(SECOND, 10) is None
    assert store.fetch(FIRST, 18) == "1"
    assert store.fetch(FIRST, 28) is None
    assert os.listdir(tmp_path) == []


def test_a_cache_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JWT_CACHE", 1)
    store = directory(tmp_path, resolver="cache")
    for account in ACCOUNTS:
        store.store(account.public, "x", 0)
    assert len(store.accounts()) == 1


def test_a_file_that_grew_is_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = directory(tmp_path)
    store.store(FIRST, "x" * 50, 0)
    monkeypatch.setattr(limits, "JWT_SIZE", 40)
    assert store.fetch(FIRST, 0) is None


def test_a_disk_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = directory(tmp_path)
    store.store(FIRST, "old", 0)

    def refuse(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ResolverError, match="No space left on device"):
        store.store(FIRST, "new", 0)
    assert store.fetch(FIRST, 0) == "old"
