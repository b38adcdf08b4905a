"""Bodies of STREAM.CREATE that are not what they should be, and some that are after all."""

from __future__ import annotations

# More than a decoder goes down.
TOO_DEEP = 10_001

# No JSON.
SYNTAX: tuple[bytes, ...] = (
    *r"""
x
tru
trux
true
nul
nulx
1
1.
-
"
"x
[
[1
[1,
{"name":}
{"name":,
{"name" "S"}
{"name":"S" "x"}
{"name":"S",}
{,}
{"name":"S"
{"name":"S
{"name
{"name"
{"name":
{"name":"S"}}
{"name":"S"} ]
{"name":"S"} 5
{"name":"S"} x
{"a":[1,]}
{"a":[1 2]}
{"a":[,]}
{"a":[1
{"a":[
{"a":[}
{"a":{]}
{"a":1]
{"a":"\x"}
{"a":"\u12g4"}
{"a":"\u12
{"a":"\
{"a":"\u
{"a":"\u1"}
{"a":"\ud83d\x"}
{"a":01}
{"a":-}
{"a":-x}
{"a":1.}
{"a":1.x}
{"a":1e}
{"a":1e+}
{"a":1ex}
{"a":.5}
{"a":+5}
{"a":1x}
{"a":1.5.5}
{"a":-
{"a":1e
{"a":1.
{"a":tru}
{"a":trxe}
{"a":falsy}
{"a":NaN}
{"a":nulL}
{"a":nu
{"a":n
{a:1}
{'a':1}
{1:1}
{"a":'x'}
{"a":\}
é
{é
{"a":€}
{"a":😀}
[[[[[[[[[[[[[[[[[[[[x
""".strip("\n")
    .encode()
    .split(b"\n"),
    b'{"a":"\n"}',
    b'{"a":"\x01"}',
    b'{"a":"\t"}',
    b'{"a":\x7f}',
    b'{"a":\xc2\xa0}',
    b"\xef\xbb\xbf{}",
    b"\x00",
    b"\xff",
    b"{\xff}",
    b'{"a":\xf0\x9f}',
    b"[" * TOO_DEEP + b"]" * TOO_DEEP,
)

# JSON of another shape: what stands beside the name.
SHAPES: tuple[str, ...] = tuple(
    r"""
"bogus":1
"bog\"us<":5
"boé\u0001":5
"template_owner":"x"
"config":{}
"maxmsgs":1
"max_msgs":"x"
"max_msgs":1.5
"max_msgs":1e3
"max_msgs":99999999999999999999
"max_msgs":-0
"max_msgs":null
"max_msgs":true
"max_msgs":[]
"max_msgs":{}
"max_msgs":9223372036854775807
"max_msgs":9223372036854775808
"max_msg_size":3000000000
"max_msg_size":-2147483649
"first_seq":-1
"first_seq":-0
"first_seq":18446744073709551616
"first_seq":18446744073709551615
"max_age":"1s"
"max_age":-9999999999999999999
"num_replicas":"x"
"max_consumers":true
"max_bytes":"x"
"max_msgs_per_subject":"x"
"duplicate_window":"x"
"subject_delete_marker_ttl":"x"
"description":5
"description":null
"description":"\ud800x"
"description":"a\ud83d\ude00b\ud83d"
"description":"\u00ff\/\b\f\n\r\t\u0001\u007f"
"description":"<>&\u2028"
"name":5
"subjects":"x"
"subjects":[1]
"subjects":{"a":1}
"subjects":[null]
"subjects":null
"subjects":[["a"]]
"retention":5
"retention":"foo"
"retention":null
"retention":"LIMITS"
"retention":["x"]
"retention":{"a": 1}
"retention":""
"retention":"lim\u0069ts"
"discard":"x"
"discard":true
"storage":"any"
"storage":"x"
"storage":1.50
"compression":"x"
"compression":5
"compression":null
"compression":""
"compression":"s\u0032"
"persist_mode":"x"
"persist_mode":""
"persist_mode":null
"persist_mode":5
"persist_mode":"default"
"no_ack":"true"
"no_ack":1
"no_ack":null
"allow_direct":[true]
"sealed":"x"
"pedantic":"x"
"allow_msg_ttl":0
"allow_atomic":"x"
"allow_batched":{}
"allow_msg_counter":1
"allow_msg_schedules":1
"discard_new_per_subject":1
"mirror_direct":1
"deny_delete":1
"deny_purge":1
"allow_rollup_hdrs":1
"mirror":"x"
"mirror":null
"mirror":{"name":5}
"mirror":{"bogus":5}
"mirror":{"opt_start_seq":-5}
"mirror":{"external":{"api":1}}
"mirror":{"external":5}
"mirror":{"consumer":5}
"mirror":{"consumer":{"name":5}}
"mirror":{"filter_subject":5}
"mirror":{"subject_transforms":[{"src":1}]}
"mirror":{"subject_transforms":{}}
"mirror":{"subject_transforms":[5]}
"mirror":{"name":"A"},"mirror":{"filter_subject":"x"}
"sources":{}
"sources":[1]
"sources":[{"name":1}]
"sources":[null]
"sources":[{"name":"A"},{"x":1}]
"metadata":{"a":1}
"metadata":[]
"metadata":"x"
"metadata":{"a":null}
"metadata":{"a":{}}
"metadata":{"a":"1"},"metadata":{"b":"2"}
"metadata":null
"consumer_limits":5
"consumer_limits":null
"consumer_limits":{"max_ack_pending":"x"}
"consumer_limits":{"inactive_threshold":"x"}
"consumer_limits":{"x":1}
"placement":{"tags":"x"}
"placement":5
"placement":{"cluster":5}
"republish":{"headers_only":5}
"republish":[]
"subject_transform":[]
"subject_transform":{"src":5}
"MAX_MSGS":7
"Max_Msgs":"x"
"\u006dax_msgs":5
"max_m\u017fgs":5
"max_mſgs":5
"bogus":1,"max_msgs":"x"
"max_msgs":"x","bogus":1
"max_msgs":"x","retention":"foo"
"retention":"foo","max_msgs":"x"
"max_msgs":5,"max_msgs":6
""".strip().splitlines()
)

TIMES: tuple[str, ...] = (
    "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00.100Z",
    "2024-01-01T00:00:00.123456789123Z",
    "2024-01-01T00:00:00.000000000+00:00",
    "2024-01-01T00:00:00+02:00",
    "2024-01-01T00:00:00.5-07:30",
    "2024-02-29T23:59:59Z",
    "2024-01-01t00:00:00z",
    "2024-01-01 00:00:00Z",
    "x",
    "",
    "2024",
    "2024-1-01T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "2024-00-01T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2024-01-32T00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z",
    "2024-01-01T00:00:60Z",
    "2024-01-01T00:00:00",
    "2024-01-01T00:00:00.Z",
    "2024-01-01T00:00:00,5Z",
    "2024-01-01T0:00:00Z",
    "2024-01-01T00:00:00Zx",
    "2024-01-01T00:00:00+25:00",
    "2024-01-01T00:00:00+23:59",
    "2024-01-01T00:00:00+00:61",
    "2024-13-01x",
    "é024-01-01T00:00:00Z",
    '"2024',
    "2024-01-01T1:00:00Z",
    "2024-02-30T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "2024-01-01T00:00:00+2:00",
    "2024-01-01T00:00:00+02:60",
    "2024-01-01T00:00:00-00:00",
    "24-01-01T00:00:00Z",
    "2024-01-01",
    "0001-01-01T00:00:00Z",
)

# Bodies that are more than one value, or none; `@` is the stream's name.
WHOLE: tuple[str, ...] = (
    "",
    " ",
    "\n",
    "null",
    "{}",
    '  {"name":"@"}\n',
    '{"name":"@"} {}',
    '{"name":"@"} {"max_msgs":5}',
    '{"name":"@"} null',
    '{"name":"@"}{"max_msgs":"x"}',
    '{"name":"@","max_msgs":"x"} x',
    "[]",
    "5",
    '"x"',
)
