"""A consumer as people read it."""

from __future__ import annotations

from jetstream_py.cli import show, units
from jetstream_py.cli.stream_show import word
from jetstream_py.migrate.connection import Json


def print_consumer(info: Json) -> None:
    created = units.stamp(info["created"])
    show.facts(
        f"Information for Consumer {info['stream_name']} > {info['name']} created {created}",
        [
            ("Configuration", _configuration(info)),
            ("Metadata", _metadata(info["config"])),
            ("State", state_facts(info)),
        ],
    )


def filters(config: Json) -> str:
    return config.get("filter_subject") or ", ".join(config.get("filter_subjects") or [])


def _configuration(info: Json) -> show.Facts:
    config = info["config"]
    push = config.get("deliver_subject")
    sample = config.get("sample_freq")
    return [
        ("Name", info["name"]),
        ("Description", config.get("description")),
        ("Durable", None if config.get("durable_name") else False),
        ("Pull Mode", None if push else True),
        ("Delivery Subject", push),
        ("Delivery Group", config.get("deliver_group")),
        ("Filter Subjects", filters(config) or None),
        ("Deliver Policy", _start(config)),
        ("Ack Policy", word(config["ack_policy"])),
        ("Ack Wait", _duration(config, "ack_wait")),
        ("Backoff", ", ".join(map(units.duration, config.get("backoff") or [])) or None),
        ("Replay Policy", word(config["replay_policy"])),
        ("Maximum Deliveries", _positive(config, "max_deliver")),
        ("Max Ack Pending", _positive(config, "max_ack_pending")),
        ("Max Waiting Pulls", None if push else _positive(config, "max_waiting")),
        ("Max Pull Batch", _positive(config, "max_batch")),
        ("Max Pull Expire", _duration(config, "max_expires")),
        ("Max Pull Bytes", _positive(config, "max_bytes")),
        ("Headers Only", config.get("headers_only") or None),
        ("Flow Control", config.get("flow_control") or None),
        ("Idle Heartbeat", _duration(config, "idle_heartbeat")),
        ("Rate Limit", f"{units.count(config['rate_limit_bps'])} bps" if _rate(config) else None),
        ("Sampling Rate", f"{sample.rstrip('%')}%" if sample else None),
        ("Inactive Threshold", _duration(config, "inactive_threshold")),
        ("Memory Storage", config.get("mem_storage") or None),
        ("Priority Policy", _priority(config)),
        ("Priority Groups", ", ".join(config.get("priority_groups") or []) or None),
    ]


def _rate(config: Json) -> bool:
    return bool(config.get("rate_limit_bps"))


def _priority(config: Json) -> str | None:
    policy = config.get("priority_policy")
    return word(policy) if policy and policy != "none" else None


def _start(config: Json) -> str:
    policy = config["deliver_policy"]
    if policy == "by_start_sequence":
        return f"From Sequence {config['opt_start_seq']}"
    if policy == "by_start_time":
        return f"Since {units.stamp(config['opt_start_time'])}"
    return word(policy)


def _duration(config: Json, name: str) -> str | None:
    value = config.get(name)
    return units.duration(value) if value else None


def _positive(config: Json, name: str) -> str | None:
    value = config.get(name) or 0
    return units.count(value) if value > 0 else None


def _metadata(config: Json) -> show.Facts:
    return sorted(
        (name, value)
        for name, value in (config.get("metadata") or {}).items()
        if not name.startswith("_nats.")
    )


def state_facts(info: Json) -> show.Facts:
    config = info["config"]
    push = bool(config.get("deliver_subject"))
    most = config.get("max_ack_pending") or 0
    of = f" out of maximum {units.count(most)}" if most > 0 else ""
    return [
        ("Last Delivered Message", sequences(info["delivered"])),
        ("Acknowledgment Floor", sequences(info["ack_floor"])),
        ("Outstanding Acks", f"{units.count(info['num_ack_pending'])}{of}"),
        ("Redelivered Messages", units.count(info["num_redelivered"])),
        ("Unprocessed Messages", units.count(info["num_pending"])),
        ("Waiting Pulls", None if push else _waiting(info)),
        ("Active Interest", ("yes" if info.get("push_bound") else "no") if push else None),
        ("Paused For", units.duration(info["pause_remaining"]) if info.get("paused") else None),
    ]


def _waiting(info: Json) -> str:
    return f"{units.count(info['num_waiting'])} of maximum {info['config'].get('max_waiting', 0):,}"


def sequences(pair: Json) -> str:
    last = pair.get("last_active")
    when = f" Last: {units.since(last)} ago" if last else ""
    return (
        f"Consumer sequence: {pair['consumer_seq']:,} Stream sequence: {pair['stream_seq']:,}{when}"
    )
