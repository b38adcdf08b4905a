"""The documentation, tried out."""
