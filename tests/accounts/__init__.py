"""Users, permissions, accounts, imports, mappings: each scenario is played on nats-server first, then
on jetstream-py, and both must tell the same story."""
