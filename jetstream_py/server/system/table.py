"""The subjects of the system account's services, and the names of the services behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JETSTREAM_API: Final = "$JS.API.>"
USER_INFO: Final = "$SYS.REQ.USER.INFO"

# Asked of all servers with `$SYS.REQ.SERVER.PING.X`, of one with `$SYS.REQ.SERVER.<id>.X`.
OF_SERVER: Final = (
    *("STATSZ", "IDZ", "VARZ", "CONNZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "SUBSZ", "JSZ", "ACCOUNTZ"),
    *("HEALTHZ", "PROFILEZ", "EXPVARZ", "IPQUEUESZ", "RAFTZ"),
)
ACTIONS: Final = ("RELOAD", "KICK", "LDM")  # asked of one server only
OF_ACCOUNT: Final = ("CONNZ", "INFO", "SUBSZ", "JSZ", "LEAFZ", "STATZ", "CONNS")

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


def system_services(server_id: str) -> dict[str, str]:
    """Subjects in the system account, and the service behind each."""
    server = f"$SYS.REQ.SERVER.{server_id}"
    services = {
        USER_INFO: "USER.INFO",
        "$SYS.REQ.USER.*.INFO": "USER.INFO",
        "$SYS.REQ.SERVER.PING": "SERVER.STATSZ",
        "$SYS.REQ.ACCOUNT.PING.STATZ": "STATZ",
        "$SYS.DEBUG.SUBSCRIBERS": "SUBSCRIBERS",
    }
    for name in OF_SERVER:
        services[f"$SYS.REQ.SERVER.PING.{name}"] = f"SERVER.{name}"
        services[f"{server}.{name}"] = f"SERVER.{name}"
    services |= {f"{server}.{name}": name for name in ACTIONS}
    services |= {f"$SYS.REQ.ACCOUNT.*.{name}": f"ACCOUNT.{name}" for name in OF_ACCOUNT}
    return services


def shared_services() -> dict[str, str]:
    """The same for every other account."""
    return {local: ".".join(subject.split(".")[2::2]) for local, subject in SHARED.items()}
