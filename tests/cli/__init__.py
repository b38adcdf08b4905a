"""The command line, on a terminal and in a pipe."""
