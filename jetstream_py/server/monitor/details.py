"""One subscription in an answer of /connz or /subsz."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.server.monitor.view import SubView


class SubDetail(msgspec.Struct, kw_only=True):
    account: str | UnsetType = UNSET
    account_tag: str | UnsetType = UNSET
    subject: str
    qgroup: str | UnsetType = UNSET
    sid: str
    msgs: int
    max: int | UnsetType = UNSET
    cid: int


def detail(sub: SubView, cid: int, account: str | UnsetType = UNSET) -> SubDetail:
    return SubDetail(
        account=account,
        account_tag=account,
        subject=gotext.utf8(sub.subject),
        qgroup=gotext.utf8(sub.queue) or UNSET,
        sid=gotext.utf8(sub.sid),
        msgs=sub.msgs,
        max=sub.max or UNSET,
        cid=cid,
    )
