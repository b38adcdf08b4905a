"""`python -m tests.fuzz.guided [seconds]`: let coverage choose the bytes.

A process of its own, because the modules under test have to be imported by atheris. The first bytes of an
input pick the cuts, the rest is the conversation.
"""

from __future__ import annotations

import random
import sys

import atheris

with atheris.instrument_imports(include=["jetstream_py"]):
    from tests.fuzz import protocol


def main() -> None:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    fuzz = protocol.Fuzz()

    def one(data: bytes) -> None:
        conversation = data[2:]
        cuts = protocol.cuts_of(random.Random(data[:2]), conversation)
        fuzz.bytes_case(conversation, cuts)

    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
