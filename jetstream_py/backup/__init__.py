"""Backups of streams as bytes: the archive that `nats stream backup` stores and `restore` sends back.

All of it is sans-IO: bytes in, entries out, and the other way round. What comes in is hostile until proven
otherwise, so nothing is believed before it was compared with a bound.
"""
