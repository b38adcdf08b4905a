"""Bytes that an ordinary client never sends, by topic.

Every case is sent on a connection of its own; nothing is said here about the answer, which is
nats-server's to give.
"""

from __future__ import annotations

from tests.support.wire import QUIET, REQUESTER, connect

PING = b"PING\r\n"
BLOCK = b"NATS/1.0\r\n\r\n"
PEDANTIC = connect(pedantic=True, headers=True)
VERBOSE = connect(verbose=True, headers=True)
LISTENER = REQUESTER + b"SUB > 9\r\n"

VERBS = [
    b"", b"\r\n", b"\n", b"\r", b" ", b"\t", b"\x00", b"\xff\xfe", b"\xef\xbb\xbfPING\r\n",
    b"pInG\r\n", b"PING\n", b"PING \r\n", b"PING\t\r\n", b"PING foo bar\r\n", b"PINGX\r\n",
    b"PINGPING\r\n", b"PING\rPING\r\n", b"PING\r\r\n", b"PING\x00\r\n", b"PING\r\n\r\n",
    b"PONG\r\n", b"PONG x y\r\n", b"PONGX\r\n", b"PONG\n", b"pong\r\n", b"PO\r\n", b"PI\r\n",
    b"P\r\n", b"PX\r\n", b"PIN G\r\n", b"P ING\r\n", b"PU\r\n", b"PUB", b"PUBX", b"SU\r\n",
    b"+OK\r\n", b"+ok\r\n", b"+OKAY\r\n", b"+OK foo\r\n", b"+O\r\n", b"+\r\n", b"+FOO\r\n",
    b"-ERR 'x'\r\n", b"-err x\r\n", b"-ERR\r\n", b"-ERR \r\n", b"-ERRx\r\n", b"-\r\n", b"-E\r\n",
    b"-ERR\t'Stale Connection'\r\n", b"-ERR 'Stale\nPING\r\n",
    b"INFO {}\r\n", b"info {}\r\n", b"INFO\r\n", b"INFO \r\n", b"INFO x\r\n", b"INFO{}\r\n",
    b"INFO []\r\n", b"INFO null\r\n", b"INFO {} {}\r\n",
    b'INFO {"max_payload":1}\r\n', b"INFOX {}\r\n", b"INF\r\n", b'INFO {"headers":false}\r\n',
    b"MSG a 1 2\r\nhi\r\n", b"msg a 1 2\r\nhi\r\n", b"M\r\n", b"RMSG $G a 2\r\nhi\r\n",
    b"HMSG a 1 2 2\r\nhi\r\n", b"HMSG\r\n", b"HMSG a\r\n", b"HM\r\n", b"H\r\n", b"HP\r\n",
    b"HX\r\n", b"RS+ $G a\r\n", b"RS- $G a\r\n", b"A+ $G\r\n", b"A- $G\r\n", b"LS+ a\r\n",
    b"LMSG a 2\r\nhi\r\n", b"FOO\r\n", b"QUIT\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"CONNECTX\r\n", b"CON\r\n", b"UN\r\n",
]  # fmt: skip

CONNECTS = [
    b"", b" ", b"{}", b"null", b"[]", b"1", b"-1", b'"x"', b"true", b"{", b"}", b"{x", b"{]",
    b"{}{}", b"{} x", b"{},", b"{}\x00", b'{"verbose":false,}', b'{"verbose" false}',
    b"{'verbose':false}", b"{verbose:false}", b'{"verbose":false', b"{} // note", b"/* */ {}",
    b'{"verbose":"yes"}', b'{"verbose":1}', b'{"verbose":0}', b'{"verbose":null}',
    b'{"verbose":[]}', b'{"verbose":{}}', b'{"verbose":TRUE}', b'{"VERBOSE":false}',
    b'{"Verbose":false,"verbose":true}', b'{"verbose":true,"VERBOSE":false}',
    b'{"verbose":false,"verbose":true}',
    b'{"verbo\\u0073e":false}', b'{"\xc5\xbferbose":false}', b'{"verbo\xc5\xbfe":false}',
    b'{"protocol":0}', b'{"protocol":1}', b'{"protocol":2}', b'{"protocol":-1}',
    b'{"protocol":"1"}', b'{"protocol":1.0}', b'{"protocol":1.5}', b'{"protocol":1e0}',
    b'{"protocol":01}', b'{"protocol":+1}', b'{"protocol":null}', b'{"protocol":true}',
    b'{"protocol":9223372036854775807}', b'{"protocol":9223372036854775808}', b'{"protocol":-0}',
    b'{"protocol":NaN}', b'{"protocol":Infinity}', b'{"name":5}', b'{"name":null}', b'{"name":[]}',
    b'{"name":"\xff"}', b'{"name":"\\ud800"}', b'{"name":"\\ud83d\\ude00"}', b'{"name":"\\x"}',
    b'{"name":"a\tb"}', b'{"name":"a\x7fb"}', b'{"name":"a\x00b"}', b'{"name":"\\u0000"}',
    b'{"name":"' + b"n" * 300 + b'"}', b'{"lang":7}', b'{"version":7}', b'{"user":1}',
    b'{"pass":1}', b'{"auth_token":1}', b'{"jwt":1}', b'{"nkey":1}', b'{"sig":1}',
    b'{"account":1}', b'{"account":"A"}', b'{"account":""}', b'{"account":"$G"}',
    b'{"new_account":1}', b'{"tls_required":1}',
    b'{"tls_required":true}', b'{"echo":"x"}', b'{"echo":null}', b'{"pedantic":"x"}',
    b'{"headers":1}', b'{"no_responders":1}', b'{"no_responders":true}', b'{"headers":null}',
    b'{"no_responders":true,"headers":false}', b'{"no_responders":true,"protocol":7}',
    b'{"unknown":{"deep":[1,2,{"x":null}]},"other":1e400}', b'{"unknown":1e400}',
    b'{"":1}', b'{"unknown":"\xff\xfe"}', b"\xef\xbb\xbf{}", b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
    b'{"import":{"allow":["x"]}}', b'{"import":5}', b'{"export":{"deny":["x"]}}', b'{"export":[]}',
    b'{"lnoc":1}', b'{"cluster":1}', b'{"proxy_sig":1}', b'{"nkey":"x","sig":"y"}', b'{"jwt":"x"}',
    b'{"user":"u","pass":"p","auth_token":"t"}',
]  # fmt: skip

PUBLISHES = [
    b"PUB a 00002\r\nhi\r\n", b"PUB a 000000002\r\nhi\r\n", b"PUB a 0000000002\r\nhi\r\n",
    b"PUB a +2\r\nhi\r\n", b"PUB a -2\r\nhi\r\n", b"PUB a -0\r\n\r\n", b"PUB a 2x\r\nhi\r\n",
    b"PUB a 0x2\r\nhi\r\n", b"PUB a 2.0\r\nhi\r\n", b"PUB a 2e0\r\nhi\r\n", b"PUB a 1_0\r\n",
    b"PUB a \xd9\xa2\r\nhi\r\n", b"PUB a 2 \r\nhi\r\n", b"PUB a 2\t \r\nhi\r\n", b"PUB a\r\n",
    b"PUB  a  2\r\nhi\r\n", b"PUB\ta\t2\r\nhi\r\n", b"PUBa 2\r\nhi\r\n", b"PUB\r\n", b"PUB \r\n",
    b"PUB \t \r\n", b"PUB\n", b"PUB a b\r\n", b"PUB a b c\r\n", b"PUB a b c 2\r\nhi\r\n",
    b"PUB a b c d 2\r\nhi\r\n", b"PUB 2\r\nhi\r\n", b"PUB  2\r\nhi\r\n", b"pub a 2\r\nhi\r\n",
    b"PUBB a 2\r\nhi\r\n", b"PUB a 0\r\n\r\n", b"PUB a 0\r\n\n", b"PUB a 0\r\n", b"PUB a 0\n\r\n",
    b"PUB a 0\r\nPING\r\n", b"PUB a 2\nhi\n", b"PUB a 2\nhi\r\n", b"PUB a 2\r\nhi\n",
    b"PUB a 2\r\nhixx\r\n", b"PUB a 2\r\nhi\rx", b"PUB a 2\r\nhi\r\r\n", b"PUB a 2\r\n\r\n\r\n",
    b"PUB a 3\r\nhi\r\n", b"PUB a 1\r\nhi\r\n", b"PUB a 4\r\nhi\r\n\r\n", b"PUB a 2\r\r\nhi\r\n",
    b"PUB a\r2\r\nhi\r\n", b"PUB a\r 2\r\nhi\r\n", b"PUB a\x0b 2\r\nhi\r\n",
    b"PUB a\x0c 2\r\nhi\r\n", b"PUB a\x00 2\r\nhi\r\n", b"PUB \xc2\xa0 2\r\nhi\r\n",
    b"PUB a 1048576\r\nhi\r\n", b"PUB a 1048577\r\n", b"PUB a 999999999\r\n",
    b"PUB a 1000000000\r\n", b"PUB a 4294967298\r\nhi\r\n", b"PUB a 18446744073709551618\r\nhi\r\n",
    b"PUB a 99999999999999999999999\r\n", b"PUB a b 1048577\r\n", b"PUB a.* 2\r\nhi\r\n",
    b"PUB a.> 2\r\nhi\r\n", b"PUB > 2\r\nhi\r\n", b"PUB * 2\r\nhi\r\n", b"PUB >.a 2\r\nhi\r\n",
    b"PUB a..b 2\r\nhi\r\n", b"PUB .a 2\r\nhi\r\n", b"PUB a. 2\r\nhi\r\n", b"PUB . 2\r\nhi\r\n",
    b"PUB a.*b 2\r\nhi\r\n", b"PUB a* 2\r\nhi\r\n", b"PUB h\xc3\xa9 2\r\nhi\r\n",
    b"PUB \xff 2\r\nhi\r\n", b"PUB a\x01 2\r\nhi\r\n", b"PUB a .b 2\r\nhi\r\n",
    b"PUB a b.* 2\r\nhi\r\n", b"PUB a b..c 2\r\nhi\r\n", b"PUB a a 2\r\nhi\r\n",
    b"PUB $SYS.x 2\r\nhi\r\n", b"PUB $JS.x 2\r\nhi\r\n", b"PUB $JS.ACK.x 2\r\nhi\r\n",
    b"PUB _R_.x 2\r\nhi\r\n", b"PUB _R_ 2\r\nhi\r\n", b"PUB $GNR.x 2\r\nhi\r\n",
    b"PUB _GR_.x.y.z 2\r\nhi\r\n", b"PUB _GR_ 2\r\nhi\r\n", b"PUB $GR.x 2\r\nhi\r\n",
    b"PUB $GR 2\r\nhi\r\n", b"PUB a _R_.x 2\r\nhi\r\n", b"PUB a _R_ 2\r\nhi\r\n",
    b"PUB a _GR_.x 2\r\nhi\r\n", b"PUB a $GR.x 2\r\nhi\r\n", b"PUB a $JS.ACK.x 2\r\nhi\r\n",
    b"PUB a $JS.ACK 2\r\nhi\r\n", b"PUB a $JS.FC.x 2\r\nhi\r\n", b"PUB a $SYS.x 2\r\nhi\r\n",
    b"PUB _GR_.x _R_.x 2\r\nhi\r\n",
]  # fmt: skip

HEADER_PUBLISHES = [
    b"HPUB a 12 14\r\n" + BLOCK + b"hi\r\n", b"HPUB a r 12 14\r\n" + BLOCK + b"hi\r\n",
    b"hpub a 12 14\r\n" + BLOCK + b"hi\r\n", b"HPUB a\t12  14 \r\n" + BLOCK + b"hi\r\n",
    b"HPUB a 012 0014\r\n" + BLOCK + b"hi\r\n", b"HPUB a 12 12\r\n" + BLOCK + b"\r\n",
    b"HPUB a 0 2\r\nhi\r\n", b"HPUB a 00 02\r\nhi\r\n", b"HPUB a 0 0\r\n\r\n",
    b"HPUB a r 0 2\r\nhi\r\n", b"HPUB a 2 2\r\nhi\r\n", b"HPUB a 1 2\r\nhi\r\n",
    b"HPUB a 4 6\r\nabcdhi\r\n", b"HPUB a 14 12\r\n" + BLOCK + b"\r\n", b"HPUB a 20 10\r\n",
    b"HPUB a -1 10\r\n", b"HPUB a 12\r\n", b"HPUB a\r\n", b"HPUB \r\n", b"HPUB\r\n",
    b"HPUBa 1 2\r\n", b"HPUBX\r\n", b"HPUB a b c 12 14\r\n", b"HPUB a b c d 12 14\r\n",
    b"HPUB a 12 x\r\n", b"HPUB a x 12\r\n", b"HPUB a +12 14\r\n", b"HPUB a 12 1048577\r\n",
    b"HPUB a 1048577 1048577\r\n", b"HPUB a 9999999999 9999999999\r\n", b"HPUB a 12 9999999999\r\n",
    b"HPUB a 9999999999 14\r\n", b"HPUB a 12 14\r\n" + BLOCK + b"hi\n",
    b"HPUB a 12 14\r\n" + BLOCK + b"hixx\r\n", b"HPUB a 12 14\n" + BLOCK + b"hi\r\n",
    b"HPUB a.* 12 14\r\n" + BLOCK + b"hi\r\n", b"HPUB a..b r 12 14\r\n" + BLOCK + b"hi\r\n",
    b"HPUB a _R_.x 12 14\r\n" + BLOCK + b"hi\r\n", b"HPUB _GR_.a 12 14\r\n" + BLOCK + b"hi\r\n",
    b"HPUB a 16 18\r\nNATS/1.0 503\r\n\r\nhi\r\n", b"HPUB a 12 14\r\n" + BLOCK,
    b"HPUB a 22 22\r\nNATS/1.0\r\nA: \xff\x00\r\n\r\n\r\n", b"HPUB a 10 10\r\nNATS/1.0\r\n\r\n",
]  # fmt: skip

SUBSCRIPTIONS = [
    b"SUB\r\n", b"SUB \r\n", b"SUB \t\r\n", b"SUB\n", b"SUB a\r\n", b"SUB a \r\n",
    b"SUB a b c d\r\n", b"SUB a b c d e\r\n", b"SUBfoo 1\r\n", b"SUBX 1\r\n", b"SUB\tfoo\tq\t1\r\n",
    b"SUB  foo  1  \r\n", b"SUB foo 1\n", b"SUB foo 1\r\r\n", b"SUB foo\r1\r\n", b"SUB\rfoo 1\r\n",
    b"SUB foo 1\x00\r\n", b"SUB foo sid-x!\r\n", b"SUB foo \xc3\xa9\r\n", b"SUB foo -1\r\n",
    b"SUB foo q.* 1\r\n", b"SUB foo q..x 1\r\n", b"SUB foo > 1\r\n", b"SUB foo \xff 1\r\n",
    b"SUB foo _sys_ 1\r\n", b"SUB foo _SYS_ 1\r\n", b"SUB foo _sys_x 1\r\n", b"sub foo 1\r\n",
    b"sUb foo 2\r\n", b"SUB foo 1\r\nSUB foo 1\r\n", b"SUB foo 1\r\nSUB bar 1\r\n",
    b"SUB foo 1\r\nSUB foo q 1\r\n", b"SUB foo q 1\r\nUNSUB 1\r\nSUB foo 1\r\n",
    b"SUB foo..bar 1\r\nSUB foo 1\r\n", b"SUB foo\x0cbar 1\r\n", b"SUB foo\x0b 1\r\n",
]  # fmt: skip

SUBJECTS = [
    b">", b"*", b"foo.*", b"foo.>", b"foo.>.b", b">.a", b"*.a", b"*.*", b"*.>", b"a.*b", b"a.b*",
    b"a.>b", b"a>", b">a", b"*a", b"a..b", b".a", b"a.", b".", b"..", b"a...b", b"h\xc3\xa9",
    b"\xff", b"a\x00b", b"a\x01", b"a\x7f", b"$SYS.>", b"$SYS", b"$SYS.REQ.x", b"$JS.>",
    b"$JS.API.>", b"_INBOX.>", b"_INBOX.x", b"_R_.>", b"$GR.x", b"_GR_.>", b"**", b"a.**", b"a.*>",
    b"*.*.*", b">.>", b"foo.*.>", b"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z",
    b"." * 100, b"a." * 100 + b"a", b"*." * 100 + b">", b"x" * 4000,
]  # fmt: skip

UNSUBSCRIBES = [
    b"UNSUB\r\n", b"UNSUB \r\n", b"UNSUB \t \r\n", b"UNSUB\n", b"UNSUB 1\r\n", b"UNSUB 1 \r\n",
    b"UNSUB 1 x\r\n", b"UNSUB 1 -1\r\n", b"UNSUB 1 -5\r\n", b"UNSUB 1 0\r\n", b"UNSUB 1 00\r\n",
    b"UNSUB 1 1\r\n", b"UNSUB 1 2\r\n", b"UNSUB 1 02\r\n", b"UNSUB 1 +2\r\n", b"UNSUB 1 2x\r\n",
    b"UNSUB 1 2 3\r\n", b"UNSUB 1 2 3 4\r\n", b"UNSUB 1 1.5\r\n", b"UNSUB 1 2147483647\r\n",
    b"UNSUB 1 2147483648\r\n", b"UNSUB 1 999999999\r\n", b"UNSUB 1 000000002\r\n",
    b"UNSUB 1 0000000002\r\n", b"UNSUB 1 99999999999999999999\r\n", b"UNSUB1\r\n", b"UNSUBX 1\r\n",
    b"UNSUB\t1\t2\r\n", b"UNSUB 77\r\n", b"UNSUB 77 x\r\n", b"UNSUB 77 2\r\n", b"unsub 1\r\n",
    b"uNsUb 1 1\r\n", b"UNS\r\n", b"UNSX", b"UNSUB 1\n", b"UNSUB 1\r\r\n", b"UNSUB 1\r2\r\n",
    b"UNSUB 01\r\n", b"UNSUB 1\x00\r\n", b"UNSUB 1 2\r\nUNSUB 1 1\r\n", b"UNSUB 1 1\r\nUNSUB 1\r\n",
    b"UNSUB 1 1\r\nUNSUB 1 3\r\n", b"UNSUB 1 1\r\nSUB b 1\r\nPUB b 0\r\n\r\n",
]  # fmt: skip

REQUESTS = [
    b"SUB r 1\r\nPUB x r 2\r\nhi\r\n", b"PUB x r 2\r\nhi\r\nSUB r 1\r\n",
    b"SUB r.* 1\r\nPUB x r.1 0\r\n\r\n", b"SUB r 1\r\nHPUB x r 12 14\r\n" + BLOCK + b"hi\r\n",
    b"SUB r q 1\r\nPUB x r 0\r\n\r\n", b"SUB r 1\r\nPUB x 0\r\n\r\n", b"SUB r 1\r\nPUB r r 0\r\n\r\n",
    b"SUB > 1\r\nPUB x r 0\r\n\r\n", b"SUB r 1\r\nPUB x.* r 0\r\n\r\n",
    b"SUB r 1\r\nPUB x..y r 0\r\n\r\n", b"SUB r 1\r\nPUB x. r 0\r\n\r\n",
    b"SUB r 1\r\nUNSUB 1 1\r\nPUB x r 0\r\n\r\nPUB y r 0\r\n\r\n",
    b"SUB r 1\r\nUNSUB 1\r\nPUB x r 0\r\n\r\n", b"SUB h\xc3\xa9 1\r\nPUB \xffz h\xc3\xa9 0\r\n\r\n",
    b"SUB r 1\r\nPUB $JS.API.NOTHING r 0\r\n\r\n", b"SUB r 1\r\nPUB $SYS.REQ.foo r 0\r\n\r\n",
    b"SUB r 1\r\nSUB x 2\r\nUNSUB 2\r\nPUB x r 0\r\n\r\n", b"SUB r 1\r\nPUB x _R_.r 0\r\n\r\n",
    b"SUB r 1\r\nSUB x 2\r\nUNSUB 2 1\r\nPUB x r 0\r\n\r\nPUB x r 0\r\n\r\n",
    b"SUB r. 1\r\nPUB x r. 0\r\n\r\n", b"SUB r.> 1\r\nPUB x r.* 0\r\n\r\n",
    b"SUB " + b"r" * 2000 + b" 1\r\nPUB " + b"x" * 2000 + b" " + b"r" * 2000 + b" 0\r\n\r\n",
]  # fmt: skip

# Subjects as they are quoted in the text of a violation.
QUOTED = [
    b'a"b', b"a'b", b"a\\b", b"h\xc3\xa9", b"\xff\xfe", b"\xc3", b"\x00\x01\x1f", b"\x07\x08\x0b\x0c",
    b"\x7f", b"\xc2\x80", b"\xc2\xa0", b"\xc2\xad", b"\xe2\x80\x8b", b"\xe2\x80\xa8", b"\xef\xbf\xbd",
    b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xee\x80\x80", b"%s%d",
]  # fmt: skip

SEQUENCES = [
    b"CONNECT {}\r\nCONNECT {}\r\n", QUIET + b"CONNECT {}\r\nSUB a 1\r\n",
    b"CONNECT {}\r\n" + QUIET + b"SUB a 1\r\n", QUIET + b"SUB a 1\r\n" + QUIET + b"PUB a 0\r\n\r\n",
    QUIET + b"CONNECT {x\r\n", QUIET + b'CONNECT {"protocol":7}\r\n',
    QUIET + b'CONNECT {"no_responders":true}\r\n', REQUESTER + b'CONNECT {"headers":false}\r\n',
    REQUESTER + b'CONNECT {"headers":false,"no_responders":false}\r\nHPUB a 0 0\r\n\r\n',
    QUIET + b'CONNECT {"headers":true}\r\nSUB a 1\r\nHPUB a 12 12\r\n' + BLOCK + b"\r\n",
    connect(echo=False) + b"SUB a 1\r\nPUB a 0\r\n\r\n" + connect() + b"SUB a 1\r\nPUB a 0\r\n\r\n",
    connect(echo=False) + b"SUB a 1\r\nPUB a 0\r\n\r\n" + connect(echo=True)
    + b"SUB a 1\r\nPUB a 0\r\n\r\n",
    connect(echo=False) + b"SUB a q 1\r\nSUB a 2\r\nPUB a r 0\r\n\r\n",
    VERBOSE + b"SUB a..b 1\r\nSUB a _sys_ 2\r\nPUB a _R_.x 0\r\n\r\nPUB _GR_.x 0\r\n\r\n",
    VERBOSE + b"SUB a 1\r\nSUB b 1\r\nUNSUB 1\r\nUNSUB 1\r\nUNSUB 1 x\r\nINFO {}\r\n+OK\r\n",
    VERBOSE + b"SUB a 1\r\nPUB a 9999999\r\n", VERBOSE + b"PUB a 2\r\nhixx\r\n",
    VERBOSE + b"HPUB a 20 10\r\n", VERBOSE + b"FOO\r\n", VERBOSE + b"PUB a -1\r\n",
    PEDANTIC + b"SUB > 1\r\nPUB a.* _R_.x 0\r\n\r\n", PEDANTIC + b"SUB > 1\r\nPUB _GR_.* 0\r\n\r\n",
    PEDANTIC + b"SUB > 1\r\nPUB a..b 0\r\n\r\nPUB a.b 0\r\n\r\n",
    PEDANTIC + b"SUB a b c d\r\n", b"SUB a 1\r\n" + QUIET + b"PUB a 0\r\n\r\n",
    b"SUB a 1\r\nPUB a 0\r\n\r\n" + QUIET + b"PUB a 0\r\n\r\n", b"PUB a.* 0\r\n\r\n" + QUIET,
    b"HPUB a 0 0\r\n\r\n" + REQUESTER, REQUESTER + b"SUB a 1\r\n" + b"PUB a 0\r\n\r\n" * 200,
    connect(protocol=1) + PING + b"SUB a 1\r\nPUB a 0\r\n\r\n", connect(protocol=1) + b"FOO\r\n",
    connect(protocol=1) + b"SUB a 1\r\nPUB a 0\r\n\r\n" + PING, PING + connect(protocol=1) + PING,
    connect(protocol=1) + PING + connect(protocol=0) + PING + connect(protocol=1) + PING,
    connect(protocol=1, verbose=True) + PING, PING * 50,
]  # fmt: skip


def all_cases() -> list[bytes]:
    """Each case with its opening, what shows the effect, and a last sign of life."""
    trigger = b"PUB foo 1\r\nF\r\nPUB foo.bar 1\r\nB\r\n"
    three = b"PUB a 1\r\nA\r\nPUB a 1\r\nB\r\nPUB a 1\r\nC\r\n"
    cases = [QUIET + case for case in VERBS]
    cases += [b"CONNECT " + case + b"\r\nPUB a.* 0\r\n\r\n" for case in CONNECTS]
    cases += [opening + case for opening in (LISTENER, PEDANTIC) for case in PUBLISHES]
    cases += [b"SUB > 9\r\n" + case for case in PUBLISHES[::3]]
    cases += [opening + case for opening in (LISTENER, QUIET) for case in HEADER_PUBLISHES]
    cases += [opening + case + trigger for opening in (QUIET, b"") for case in SUBSCRIPTIONS]
    cases += [QUIET + b"SUB " + case + b" 1\r\nPUB " + case + b" 0\r\n\r\n" for case in SUBJECTS]
    cases += [QUIET + b"SUB a 1\r\n" + case + three for case in UNSUBSCRIBES]
    cases += [VERBOSE + b"SUB a q 1\r\nPUB a 0\r\n\r\n" + case + three for case in UNSUBSCRIBES]
    cases += [REQUESTER + case for case in REQUESTS]
    cases += [connect(headers=True, no_responders=True, echo=False) + case for case in REQUESTS]
    cases += [QUIET + b"PUB _GR_." + case + b" 0\r\n\r\n" for case in QUOTED]
    cases += [QUIET + b"PUB a _R_." + case + b" 0\r\n\r\n" for case in QUOTED]
    cases += [QUIET + b"SUB " + case + b" _sys_ 1\r\n" for case in QUOTED]
    cases += SEQUENCES
    return [case + PING for case in cases]
