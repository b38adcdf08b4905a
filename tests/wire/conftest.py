"""Certificates for servers and clients, made once."""

from __future__ import annotations

import pytest

from tests.support.certs import Authority, Pair


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certs"))


@pytest.fixture(scope="session")
def pair(authority: Authority) -> Pair:
    """The server's."""
    return authority.server()


@pytest.fixture(scope="session")
def tls_block(authority: Authority, pair: Pair) -> str:
    """The start of a `tls` block; options may follow."""
    return f'cert_file: "{pair.cert}", key_file: "{pair.key}", ca_file: "{authority.cert}", '
