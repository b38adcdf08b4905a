"""Every number that bounds something, with its reason. Values a user may set are defaults here."""

from __future__ import annotations

from typing import Final

# -- what nats-server's documentation promises clients (defaults of the options) ------------------
MAX_CONTROL_LINE: Final = 4096
MAX_PAYLOAD: Final = 1024 * 1024
MAX_PAYLOAD_WARN: Final = 8 * 1024 * 1024  # above this the start-up log warns
MAX_PENDING: Final = 64 * 1024 * 1024
MAX_CONNECTIONS: Final = 64 * 1024
MAX_CLOSED_CLIENTS: Final = 10_000  # closed connections remembered for /connz?state=closed
PING_INTERVAL: Final = 120.0
PING_MAX: Final = 2
WRITE_DEADLINE: Final = 10.0
AUTH_TIMEOUT: Final = 2.0
TLS_TIMEOUT: Final = 2.0
LAME_DUCK_DURATION: Final = 120.0
LAME_DUCK_GRACE: Final = 10.0
DEFAULT_PORT: Final = 4222

# Ten thousand clients may come back at once after a restart; the kernel caps this by its own limit.
BACKLOG: Final = 4096

# Closed connections that wait for their peer to read the error text: so long, so many, no more.
LINGER: Final = 1.0
LINGERING: Final = 1_000

# -- caches on the hot path: each is emptied when full, so a flood of new subjects costs time only --
LINE_CACHE: Final = 200_000  # control lines and rendered message heads per account (~100 B each)
LINE_CACHE_LEN: Final = 256  # longer control lines are parsed each time
SIZE_CACHE: Final = 16_384  # spellings of a payload size, per process
ROUTE_CACHE: Final = 65_536  # resolved literal subjects and inbox prefixes per account

# -- configuration files ---------------------------------------------------------------------------
CONFIG_FILE_SIZE: Final = 16 * 1024 * 1024
CONFIG_DEPTH: Final = 64  # nested blocks and includes

# -- monitoring ------------------------------------------------------------------------------------
MONITOR_LIMIT: Final = 1024  # default page of /connz and /subsz
MONITOR_REQUEST_TIME: Final = 10.0
MONITOR_BACKLOG: Final = 128
MONITOR_CONNECTIONS: Final = 256  # scrapers and dashboards, not users
MONITOR_KEEP_ALIVE: Final = 30.0  # two scrapes fit; also the time that a request's head may take
MONITOR_TARGET_SIZE: Final = 8_190
