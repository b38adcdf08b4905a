"""The classes of mistakes that NATS servers have had security advisories for, and that this one does not
make. `python -m tests.security` measures what strangers can cost, on both servers.
"""
