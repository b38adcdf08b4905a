"""A client that says who it is again: it may be somebody else, of another account."""

from __future__ import annotations

from tests.accounts.support import Stage, scenario
from tests.support.wire import pub

CONFIG = """
accounts {
  A { users: [{user: a, password: a}, {user: other, password: other}] }
  B { users: [{user: b, password: b}] }
}
"""


@scenario("CORE-059", config=CONFIG)
def test_second_connect_changes_the_account(stage: Stage) -> None:
    client, left, right = stage.enter("a"), stage.enter("other"), stage.enter("b")
    client.say(b"SUB before 1\r\n")
    client.say(b'CONNECT {"user":"b","pass":"b","verbose":false}\r\nSUB after 2\r\n')
    for sender in (left, right):
        sender.say(pub(b"before", b"x") + pub(b"after", b"y"))
        client.hear()


@scenario("CORE-059", config=CONFIG)
def test_second_connect_is_judged_as_the_first(stage: Stage) -> None:
    client = stage.enter("a")
    client.say(b'CONNECT {"user":"nobody","pass":"b"}\r\n')
