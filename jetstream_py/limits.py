"""Every number that bounds something, with its reason. Values a user may set are defaults here."""

from __future__ import annotations

from typing import Final

# -- what nats-server's documentation promises clients (defaults of the options) ------------------
MAX_CONTROL_LINE: Final = 4096
MAX_PAYLOAD: Final = 1024 * 1024
MAX_PAYLOAD_WARN: Final = 8 * 1024 * 1024  # above this the start-up log warns
MAX_PENDING: Final = 64 * 1024 * 1024
MAX_CONNECTIONS: Final = 64 * 1024
MAX_CLOSED_CLIENTS: Final = 10_000  # closed connections remembered for /connz?state=closed ...
CLOSED_TEXT: Final = 1024  # ... with so much of each thing that they said of themselves
PING_INTERVAL: Final = 120.0
PING_MAX: Final = 2
WRITE_DEADLINE: Final = 10.0
AUTH_TIMEOUT: Final = 2.0
TLS_TIMEOUT: Final = 2.0
TLS_FALLBACK: Final = 0.05  # wait of `handshake_first: auto` for a handshake
WEBSOCKET_HANDSHAKE: Final = 2.0  # seconds
RESPONSES_MAX: Final = 1  # answers that `allow_responses: true` allows to each request ...
RESPONSES_EXPIRE: Final = 120.0  # ... within so many seconds
LAME_DUCK_DURATION: Final = 120.0
LAME_DUCK_GRACE: Final = 10.0
DEFAULT_PORT: Final = 4222
WARN_AGAIN: Final = 60.0  # seconds before the log repeats that an account is full
SERVICE_REPLIES: Final = 65_536  # requests to services of an account that may still be answered ...
SERVICE_REPLY_TIME: Final = 120.0  # ... for so many seconds, unless the export says otherwise
SERVICE_HOPS: Final = 64  # imports that a request may pass, all its copies together
SERVICE_SWEEP: Final = 1.0  # seconds between looks for those whose time is over
# What one connection may cost before its login: 64 KiB in all, so the parts are less.
EARLY_INPUT: Final = (
    64 * 1024
)  # bytes that may come without a whole CONNECT among them, kept or not
HELD_INPUT: Final = 32 * 1024  # bytes that may wait while credentials are checked
LOGIN_THREADS: Final = 2  # threads for logins that take long ...
LOGIN_QUEUE: Final = 1024  # ... and logins that may wait for them
GRANTS: Final = 4096  # reply subjects that a client with `allow_responses` may still answer

# Ten thousand clients may come back at once after a restart; the kernel caps this by its own limit.
BACKLOG: Final = 4096

# Closed connections that wait for their peer to read the error text: so long, so many, no more.
LINGER: Final = 1.0
LINGERING: Final = 1_000

# A client's part of a TLS handshake: keys, and a chain of certificates if it has to show one.
TLS_HANDSHAKE_BYTES: Final = 32 * 1024
TLS_HELLO: Final = 16 * 1024  # OpenSSL takes memory for what the first message promises to be

# The HTTP request that becomes a WebSocket: cookies with a JWT or two fit. They stay until the login,
# beside an inflater (some 40 KiB).
WEBSOCKET_HEAD: Final = 16 * 1024
WEBSOCKET_TRIES: Final = 8  # requests of a connection that are refused before it is closed

# -- caches on the hot path: each is emptied when full, so a flood of new subjects costs time only --
LINE_CACHE: Final = 200_000  # control lines and rendered message heads per account (~100 B each)
LINE_CACHE_LEN: Final = 256  # longer control lines are parsed each time
SIZE_CACHE: Final = 16_384  # spellings of a payload size, per process
PERMISSION_CACHE: Final = 16_384  # subjects of which a user's rule knows the answer
MAPPING_CACHE: Final = 16_384  # subjects of which an account knows whether it maps them
RIGHTS: Final = 1024  # kinds of users of an account that have lines of their own
ROUTE_CACHE: Final = 65_536  # resolved literal subjects and inbox prefixes per account

# -- configuration files ---------------------------------------------------------------------------
CONFIG_FILE_SIZE: Final = 16 * 1024 * 1024
CONFIG_DEPTH: Final = 64  # nested blocks and includes

# -- JWTs ------------------------------------------------------------------------------------------
JWT_SIZE: Final = 1024 * 1024  # characters of a token; an account's may list thousands of keys
ACCOUNT_ITEMS: Final = 500  # imports or exports of a JWT: each is compared with each
JWT_CACHE: Final = 1_000  # accounts that a cache resolver keeps unless told otherwise
JWT_CACHE_TTL: Final = 3_600.0  # seconds it keeps them without use
JWT_FETCH: Final = 1.9  # seconds that an account server may take
SERVICE_ECHO: Final = 64  # bytes of a request that the log repeats
TEMPLATE_SUBJECTS: Final = 4_096  # that one entry of a scope may become: tags multiply

# -- monitoring ------------------------------------------------------------------------------------
MONITOR_LIMIT: Final = 1024  # default page of /connz and /subsz
MONITOR_REQUEST_TIME: Final = 10.0
MONITOR_BACKLOG: Final = 128
MONITOR_CONNECTIONS: Final = 256  # scrapers and dashboards, not users
MONITOR_KEEP_ALIVE: Final = 30.0  # two scrapes fit; also the time that a request's head may take
MONITOR_TARGET_SIZE: Final = 8_190
HISTORY_INTERVAL: Final = 5.0  # seconds between two samples for the plots ...
HISTORY_SAMPLES: Final = 720  # ... which show an hour
VIEW_PAGE: Final = 50  # messages on a page of /view unless asked for more ...
VIEW_PAGE_MAX: Final = 200
VIEW_SCAN: Final = 1_000  # ... and those looked at for it, with those that the user may not see
VIEW_PREVIEW: Final = 1024  # bytes shown of a payload in a list ...
VIEW_PAYLOAD: Final = 256 * 1024  # ... and alone
VIEW_JUDGES: Final = 4  # credentials judged at a time: a password may cost a tenth of a second
MONITOR_DETAILS: Final = (
    20_000  # streams and consumers in one answer of /jsz: some 0.5 s of the loop
)
METRICS_DETAILS: Final = 5_000  # streams and consumers in one scrape, each of them as eight samples
METRICS_ACCOUNTS: Final = 1_000
METRICS_CONNECTIONS: Final = 65_536  # whose counters are added up
CERTIFICATE_FILE: Final = 1024 * 1024  # bytes of a certificate's file that are looked at
STACK_DEPTH: Final = 256  # frames of a thread that /stacksz shows

# -- store -----------------------------------------------------------------------------------------
STORE_MAP: Final = 1 << 40  # address space of the LMDB map; the real limit is the one below
STORE_LIMIT: Final = 1 << 39  # bytes a store may use unless told otherwise
STORE_RESERVE: Final = 64 * 1024 * 1024  # kept free so that purges work when publishes no longer do
STORE_AHEAD: Final = 64 * 1024 * 1024  # the file is extended by so much before it is needed
STORE_INLINE: Final = (
    64 * 1024
)  # groups up to here commit in the loop's thread, larger ones in the writer's
WAL_RECORD: Final = 256 * 1024  # larger groups go to LMDB at once: writing them twice costs more
WAL_BYTES: Final = (
    2 * 1024 * 1024
)  # of the write-ahead log between two LMDB commits, and so about what waits in memory for the next one
WAL_MESSAGES: Final = (
    4096  # ... or so many messages of a stream: what is in no block is walked one by one
)
WAL_MOST: Final = 64 * 1024 * 1024  # what a start reads of it, should it be longer
# With a sync interval, what may wait for it: a power cut never takes more than this.
INTERVAL_BYTES: Final = 8 * 1024 * 1024
COPY_INLINE: Final = 128 * 1024  # ... if they do not rewrite more than this
BLOCK_BYTES: Final = 64 * 1024  # a block is cut here (32 KiB appends slower, 128 KiB reads slower)
BLOCK_RECORDS: Final = 1024
SMALL_BLOCK: Final = 32 * 1024  # tail blocks under this are merged ...
SMALL_RUN: Final = 64  # ... when so many are there, or a block's worth of bytes
CRC_UNIT: Final = 4096  # what a disk damages at once; a get checks only the units it touches
FAT_PAYLOAD: Final = (
    1024 * 1024
)  # larger records are stored in parts: LMDB needs adjacent pages for a value
FAT_PART: Final = 128 * 1024 - 32  # with page header and checksum 32 pages
BLOOM_MIN: Final = 64  # bits of a block's subject filter
BLOOM_MAX: Final = 8192
BLOOM_PROBES: Final = (
    16  # up to so many subjects are looked up in the filters, more in the blocks' names
)
GARBAGE_FLOOR: Final = 4 * 1024 * 1024  # dead bytes a stream may keep beyond its live ones
COMPACT_STEP: Final = 64 * 1024  # live bytes copied per group; up to 8 times that when behind
CHECKPOINT_CHANGES: Final = (
    256 * 1024
)  # appended and removed records between checkpoints of a stream
CHECKPOINT_BLOCKS: Final = 4096
CHECKPOINT_IDLE: Final = 3.0  # seconds without a commit after which streams write one
CHECKPOINT_SLICE: Final = 4096  # subjects a run, runs of a long table go into one group each
CHECKPOINT_DIRS: Final = 1024  # dead bitmaps refreshed per group
PURGE_RECORDS: Final = 4096  # messages a purge drops before others have their turn (some 15 ms)
PURGE_BLOCKS: Final = 48  # ... or blocks it looks at
PURGE_QUEUE: Final = 1000  # purges of a stream that wait for the one that runs
RANGE_DELETE: Final = 2000  # keys of a deleted stream that one group removes
VIEW_CACHE: Final = 32 * 1024 * 1024  # columns of blocks kept decoded, bytes
PAGE_CACHE: Final = 32 * 1024 * 1024  # messages of blocks kept decoded, bytes
PATTERN_CACHE: Final = 64  # wildcard filters whose subjects a stream remembers ...
PATTERN_NAMES: Final = 4_000_000  # ... and how many subjects these may be in all
MASK_CACHE: Final = 8  # filters whose hits a decoded block remembers
TRAILS: Final = 4096  # filters of few subjects of which a stream remembers where matches are ...
TRAIL_RANGES: Final = 65_536  # ... and in how many blocks all of them together
OLDEST_BATCH: Final = 64  # sequences looked up at once for "the oldest message of a subject"
COMPLAINTS: Final = 100  # texts about damage that a store remembers
META_KEY: Final = 500  # LMDB takes keys of 511 bytes

# -- what may wait ---------------------------------------------------------------------------------
# The defaults are nats-server's; the configuration may say otherwise.
BUFFERED_MSGS: Final = 100_000  # messages of a stream that came while a commit is under way ...
BUFFERED_BYTES: Final = 128 * 1024 * 1024
API_QUEUE: Final = 10_000  # API requests that wait; those that only ask wait beside the others ...
API_QUEUE_BYTES: Final = 64 * 1024 * 1024  # ... and their bodies
API_TURN: Final = 0.005  # seconds of the loop that requests get before others have their turn
API_ANSWERS: Final = 16 * 1024 * 1024  # bytes of answers that may wait for a commit
WARNINGS: Final = 1024  # texts whose repetition the log holds back

# -- consumers -------------------------------------------------------------------------------------
INTEREST_CACHE: Final = 65_536  # subjects of which a stream knows whether a consumer wants them
FRESH_SUBJECTS: Final = 4096  # subjects noted between two commits to wake their consumers only
JOURNAL_DELAY: Final = 0.25  # seconds until deliveries and plain acks are written
JOURNAL_CHANGES: Final = 16_384  # debts that may change before that
JOURNAL_WEIGHT: Final = 16 * 1024  # bytes of deltas before the whole state is written instead
DEAD_LETTERS: Final = 500  # copied before others get their turn, some 20 ms ...
DEAD_LETTER_BYTES: Final = 4 * 1024 * 1024  # ... and bytes: they are read from disk and staged
DEAD_LETTER_TEXT: Final = 1024  # bytes of a client's reason that are kept

# -- batches ---------------------------------------------------------------------------------------
# How many and how long are nats-server's, which clients know; `jetstream.limits.batch` may say otherwise.
BATCH_ID: Final = 64  # bytes
BATCH_DIGITS: Final = 20  # of a number in a batch
BATCH_PER_STREAM: Final = 50  # atomic batches at once
BATCH_TOTAL: Final = 1_000
BATCH_MSGS: Final = 1_000  # messages of an atomic batch
BATCH_TIMEOUT: Final = 10.0  # seconds without a message
BATCH_BYTES: Final = 256 * 1024 * 1024  # all open atomic batches together: they wait in memory ...
BATCH_OVERHEAD: Final = 256  # ... where a message costs so much beside its bytes
FAST_BATCH_PER_STREAM: Final = 1_000
FAST_BATCH_TOTAL: Final = 50_000
FAST_BATCH_FLOW: Final = 500  # messages between acks, shared by the fast batches of a stream
FAST_BATCH_DEFAULT: Final = 10  # ... for a publisher that does not say what it wants
FAST_BATCH_MOST: Final = 65_535  # ... which cannot be more than this

# -- TTLs of messages ------------------------------------------------------------------------------
TTL_CACHE: Final = 256  # spellings that are remembered
TTL_CHUNK: Final = 10  # bits: deadlines are remembered for so many sequences together ...
TTL_PIECE: Final = 8  # bits: ... and stored for so many of those together
TTL_NEAR: Final = 300  # seconds: deadlines up to here are remembered one by one
TTL_SLACK: Final = 1024  # numbers about removed messages that may stay beyond one per message
TTL_RETRY: Final = 2  # seconds until a marker that was refused is tried again
EXPIRE_SLICE: Final = 512  # messages that expire before others have their turn

# -- embedded servers ------------------------------------------------------------------------------
EMBED_WAIT: Final = 60.0  # seconds that another thread waits for the loop: longer is a deadlock
EMBED_AHEAD: Final = 1 << 20  # as STORE_AHEAD, for temporary stores: their memory is taken at once
EMBED_ROOM: Final = 1 << 30  # bytes free in memory's file system to put temporary stores there
QUIET_TURNS: Final = 8  # turns of the loop for bytes that are on their way inside this machine
SETTLE_TURNS: Final = 100_000  # ... and at most, when clients never stop
RECORDS: Final = 10_000  # publishes and acks that are remembered for assertions, the latest ...
RECORD_BYTES: Final = 64 * 1024 * 1024  # ... and their bytes
HELD_BACK: Final = 10_000  # deliveries and acks that a fault delays at a time

# -- immutable streams -----------------------------------------------------------------------------
CHAIN_SLICE: Final = 5_000  # messages hashed in one go after a restore: some 10 ms

# -- templates of streams --------------------------------------------------------------------------
TEMPLATE_STREAMS: Final = 100  # that a template makes unless told otherwise ...
TEMPLATE_MOST: Final = 10_000  # ... and at most: each of them has timers, tables and records

# -- counters and schedules ------------------------------------------------------------------------
COUNTER_DIGITS: Final = 1 << 20  # of a value; an increment has some 65,000 at most
SCHEDULE_CACHE: Final = 256  # spellings of schedules that are remembered
SCHEDULE_NAP: Final = 86_400.0  # seconds a timer may be set for; the wall clock may have been moved
CRON_LENGTH: Final = 1024  # characters: every second of a minute fits
SCHEDULE_YEARS: Final = 5  # a cron expression that matches nothing in so many is refused

# -- the API of the preview ------------------------------------------------------------------------
PREVIEW_PENDING: Final = 1_000  # deliveries that its info of a consumer lists one by one

# -- pull requests ---------------------------------------------------------------------------------
NEXT_CACHE: Final = 1024  # bodies that are remembered, emptied when full ...
NEXT_CACHE_LEN: Final = 256  # ... and how long they may be

# -- direct get ------------------------------------------------------------------------------------
DIRECT_RUN: Final = 500  # messages of a batch that are read at once ...
DIRECT_RUN_BYTES: Final = 8 * 1024 * 1024  # ... and fewer where they are large

# -- mirrors and sources ---------------------------------------------------------------------------
FEED_RUN: Final = 2_000  # messages of an origin that are copied before others have their turn ...
FEED_BYTES: Final = 4 * 1024 * 1024  # ... or about so much: a slice is one commit's
FEED_RETRY: Final = 1.0  # seconds until a message that was refused is tried again
FEED_SILENCE: Final = 10.0  # seconds without a sign of a remote origin until it is asked again
REMOVED_SOURCES: Final = 100  # of a stream, whose positions are remembered

# -- backups ---------------------------------------------------------------------------------------
SNAPSHOT_CHUNK: Final = 128 * 1024  # bytes of a chunk unless asked for less or more ...
SNAPSHOT_CHUNKS: Final = (1024, 1024 * 1024)  # ... but not less or more than this
SNAPSHOT_WINDOW: Final = 8 * 1024 * 1024  # bytes under way unless asked for less or more ...
SNAPSHOT_WINDOWS: Final = (1024, 32 * 1024 * 1024)
SNAPSHOT_RUN: Final = 1024  # messages read at once
SNAPSHOT_FURTHER: Final = 8  # times that a snapshot follows a stream that has changed meanwhile
SNAPSHOT_TURN: Final = 256 * 1024  # bytes made before others have their turn
SNAPSHOT_ACK_TIME: Final = 5.0  # seconds to wait for an ack ...
SNAPSHOT_INTEREST_TIME: Final = 2.0  # ... and for somebody who listens
SNAPSHOTS: Final = 16  # of an account at a time; restores likewise
RESTORE_TIME: Final = 5.0  # seconds between two chunks of a restore
RESTORE_TURN: Final = 256 * 1024  # bytes unpacked before others have their turn
RESTORE_BLOCK: Final = (
    32 * 1024
)  # ... as which a block, or a part of one, counts beside its entries ...
RESTORE_ENTRY: Final = 100  # ... and an entry beside its data
RESTORE_BACKLOG: Final = 64 * 1024 * 1024  # bytes of chunks that wait to be unpacked
RESTORE_CONSUMERS: Final = 64 * 1024 * 1024  # bytes of consumers: kept in memory until the end

# -- HTTP gateway ----------------------------------------------------------------------------------
GATEWAY_REQUEST_TIME: Final = 30.0  # seconds for what is answered at once
GATEWAY_STALL: Final = 30.0  # seconds that a transfer may stand still
GATEWAY_WATCHERS: Final = 64  # event streams; the other connections of the port stay for the rest
GATEWAY_TRANSFERS: Final = 32  # objects on their way: each has a window of chunks in memory
GATEWAY_WATCH_TIME: Final = 900.0  # seconds; then it must come again, and be judged again
GATEWAY_HEARTBEAT: Final = 15.0  # seconds: proxies close what is silent for longer
GATEWAY_UPLOAD: Final = 1 << 30  # bytes of an object unless the configuration says otherwise
GATEWAY_OPTIONS: Final = 64 * 1024  # bytes of JSON that make a bucket
GATEWAY_KEYS: Final = 10_000  # keys, revisions or objects in one answer
GATEWAY_PAGE: Final = 100  # messages on a page unless asked for ...
GATEWAY_PAGE_MAX: Final = 1_000  # ... more
GATEWAY_ANSWER: Final = 8 * 1024 * 1024  # bytes of messages in one answer
GATEWAY_PAST: Final = 64 * 1024 * 1024  # bytes of values read for one answer about the past
GATEWAY_QUERY: Final = 16  # arguments of a request

# -- key-value and object views --------------------------------------------------------------------
KEY_LENGTH: Final = 2048  # characters: a subject, the API's prefix and a reply fit a control line
KEY_HISTORY: Final = 64  # values of a key that a bucket may keep, as clients have it
GET_MANY: Final = 512  # keys of one direct read; the server takes 1,024
UPDATE_TRIES: Final = 32  # of a compare-and-set loop unless told otherwise
PAST_TRIES: Final = 5  # readings of the past that removals may upset
OBJECT_CHUNK: Final = 128 * 1024  # bytes, as all clients have it
OBJECT_WINDOW: Final = 4 * 1024 * 1024  # bytes of an upload that wait for their acks ...
OBJECT_CHUNKS: Final = 64  # ... and chunks
OBJECT_META_TRIES: Final = 16  # writers of one name at the same time
OBJECT_ABANDONED: Final = (
    3_600.0  # seconds after which chunks without an object count as left behind
)

# -- export ----------------------------------------------------------------------------------------
EXPORT_SEGMENT: Final = 250_000  # messages of a file: a task of Spark's reads it in a second or two
EXPORT_BYTES: Final = 128 * 1024 * 1024  # of headers and payloads: a block of a distributed disk
EXPORT_GROUP: Final = 65_536  # messages of a row group, which is what a reader can skip
EXPORT_RUN: Final = 8_192  # messages read from a store at once
EXPORT_SNAPSHOT: Final = (
    1_000_000  # ... and from one snapshot: it keeps pages from being used again
)
EXPORT_PULL: Final = 5_000  # messages of a pull request ...
EXPORT_PULL_BYTES: Final = 8 * 1024 * 1024  # ... and bytes; servers let 64 MiB wait for a client
IMPORT_WINDOW: Final = 4_000  # publishes without an ack ...
IMPORT_BYTES: Final = 16 * 1024 * 1024  # ... and their bytes
