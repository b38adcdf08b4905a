"""The plugin of pytest, in projects of its own."""
