"""The long form of the contract test: python -m tests.gateway [examples]"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.gateway.contract import play
from tests.gateway.place import Place


def main() -> None:
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        try:
            print("statuses:", sorted(play(place, examples)))
        finally:
            place.close()


main()
