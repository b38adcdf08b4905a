"""Certificates and stages of the other tests."""

from __future__ import annotations

from tests.accounts.conftest import kind, theatre
from tests.wire.conftest import authority, pair, tls_block

__all__ = ["authority", "kind", "pair", "theatre", "tls_block"]
