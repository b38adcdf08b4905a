"""Stock tools that are too large to come with every test run: the Go client and the `nats` command."""
