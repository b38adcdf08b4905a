"""The subjects of the system account's services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JETSTREAM_API: Final = "$JS.API.>"
USER_INFO: Final = "$SYS.REQ.USER.INFO"

# What every account may ask about itself, and under which subject the system account serves it.
SHARED: Final[Mapping[str, str]] = {
    "$SYS.REQ.ACCOUNT.PING.CONNZ": "$SYS.REQ.ACCOUNT.{}.CONNZ",
    "$SYS.REQ.SERVER.PING.CONNZ": "$SYS.REQ.ACCOUNT.{}.CONNZ",
    "$SYS.REQ.ACCOUNT.PING.STATZ": "$SYS.REQ.ACCOUNT.{}.STATZ",
    USER_INFO: "$SYS.REQ.USER.{}.INFO",
}
# What the system account exports, with the kind of the responses.
EXPORTED: Final[Mapping[str, str]] = {
    "$SYS.REQ.USER.*.INFO": "Singleton",
    "$SYS.REQ.ACCOUNT.*.CONNZ": "Streamed",
    "$SYS.REQ.ACCOUNT.*.STATZ": "Streamed",
    "$SYS.DEBUG.SUBSCRIBERS": "Singleton",
}
