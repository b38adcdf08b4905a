"""What may be asked of the system services: the bodies of requests, with the names that Go gives them
in complaints."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from jetstream_py.gojson.fields import Number, Text, Wire, duration, int_, uint64
from jetstream_py.server.monitor.connz import ConnzOptions
from jetstream_py.server.monitor.healthz import HealthzOptions
from jetstream_py.server.monitor.jsz import JszOptions
from jetstream_py.server.monitor.subsz import SubszOptions

_STATES: Final = {0: "open", 1: "closed", 2: "all"}
_State = Annotated[int, Number("server.ConnState", -(2**63), 2**63 - 1)]
_Sort = Annotated[str, Text("server.SortOpt")]


class Filter(Wire):
    """Which servers are meant. Every request may say."""

    server_name: str = ""
    cluster: str = ""
    host: str = ""
    exact_match: bool = False
    tags: tuple[str, ...] = ()
    domain: str = ""

    def means(self, name: str, host: str, tags: list[str], domain: str) -> bool:
        """Is it this server? It is in no cluster."""
        if self.cluster or (self.domain and self.domain != domain):
            return False
        asked = ((self.server_name, name), (self.host, host))
        for wanted, own in asked:
            if wanted != own if wanted and self.exact_match else wanted not in own:
                return False
        own_tags = {tag.lower() for tag in tags}
        return all(tag.lower() in own_tags for tag in self.tags)


class StatszRequest(Filter):
    go_name = "server.StatszEventOptions"


class VarzRequest(Filter):
    go_name = "server.VarzEventOptions"


class ConnzRequest(Filter):
    go_name = "server.ConnzEventOptions"

    sort: _Sort = ""
    auth: bool = False
    subscriptions: bool = False
    subscriptions_detail: bool = False
    offset: int_ = 0
    limit: int_ = 0
    cid: uint64 = 0
    mqtt_client: str = ""
    state: _State = 0
    user: str = ""
    acc: str = ""
    filter_subject: str = ""

    def options(self, account: str = "") -> ConnzOptions:
        return ConnzOptions(
            sort=self.sort,
            auth=self.auth,
            subs=self.subscriptions or self.subscriptions_detail,
            detail=self.subscriptions_detail,
            offset=self.offset,
            limit=self.limit,
            cid=self.cid,
            state=_STATES.get(self.state, "none"),
            user=self.user,
            account=account or self.acc,
            mqtt_client=self.mqtt_client,
            filter_subject=self.filter_subject,
        )


class RoutezRequest(Filter):
    go_name = "server.RoutezEventOptions"

    subscriptions: bool = False
    subscriptions_detail: bool = False


class GatewayzRequest(Filter):
    go_name = "server.GatewayzEventOptions"

    name: str = ""
    accounts: bool = False
    account_name: str = ""
    subscriptions: bool = False
    subscriptions_detail: bool = False


class LeafzRequest(Filter):
    go_name = "server.LeafzEventOptions"

    account: str = ""
    subscriptions: bool = False


class SubszRequest(Filter):
    go_name = "server.SubszEventOptions"

    offset: int_ = 0
    limit: int_ = 0
    subscriptions: bool = False
    account: str = ""
    test: str = ""

    def options(self, account: str = "") -> SubszOptions:
        """An account is always asked for its list."""
        return SubszOptions(
            subs=self.subscriptions or bool(account),
            offset=self.offset,
            limit=self.limit,
            test=self.test,
            account=account or self.account,
        )


class JszRequest(Filter):
    go_name = "server.JszEventOptions"

    account: str = ""
    accounts: bool = False
    streams: bool = False
    consumer: bool = False
    direct_consumer: bool = False
    config: bool = False
    leader_only: bool = False
    offset: int_ = 0
    limit: int_ = 0
    raft: bool = False
    stream_leader_only: bool = False

    def options(self) -> JszOptions:
        return JszOptions(
            account=self.account,
            accounts=self.accounts,
            streams=self.streams,
            consumers=self.consumer,
            direct_consumers=self.direct_consumer,
            config=self.config,
            offset=self.offset,
            limit=self.limit,
            raft=self.raft,
        )


class AccountzRequest(Filter):
    go_name = "server.AccountzEventOptions"

    account: str = ""


class HealthzRequest(Filter):
    go_name = "server.HealthzEventOptions"

    js_enabled: bool = field(default=False, name="js-enabled")
    js_enabled_only: bool = field(default=False, name="js-enabled-only")
    js_server_only: bool = field(default=False, name="js-server-only")
    js_meta_only: bool = field(default=False, name="js-meta-only")
    account: str = ""
    stream: str = ""
    consumer: str = ""
    details: bool = False

    def options(self) -> HealthzOptions:
        return HealthzOptions(
            account=self.account,
            stream=self.stream,
            consumer=self.consumer,
            details=self.details,
            server_only=self.js_enabled or self.js_enabled_only or self.js_server_only,
            deprecated=self.js_enabled,
        )


class ProfilezRequest(Filter):
    go_name = "server.ProfilezEventOptions"

    name: str = ""
    debug: int_ = 0
    duration: duration = 0


class ExpvarzRequest(Filter):
    go_name = "server.ExpvarzEventOptions"


class IpqueueszRequest(Filter):
    go_name = "server.IpqueueszEventOptions"

    all: bool = False
    filter: str = ""


class RaftzRequest(Filter):
    go_name = "server.RaftzEventOptions"

    account: str = ""
    group: str = ""


class AccountInfoRequest(Filter):
    go_name = "server.AccInfoEventOptions"


class AccountStatzRequest(Filter):
    go_name = "server.AccountStatzEventOptions"

    accounts: tuple[str, ...] = ()
    include_unused: bool = False


class ConnsRequest(Wire):
    go_name = "server.accNumConnsReq"

    acc: str = ""


class KickRequest(Wire):
    go_name = "server.KickClientReq"

    cid: uint64 = 0


class LameDuckRequest(Wire):
    go_name = "server.LDMClientReq"

    cid: uint64 = 0
