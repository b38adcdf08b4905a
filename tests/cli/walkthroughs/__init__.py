"""Walk-throughs of JetStream as its early documents tell them, typed at a terminal."""
