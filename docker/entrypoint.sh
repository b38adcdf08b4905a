#!/bin/sh
# Bare flags are the server's: `docker run image -js -m 8222`. Anything else is a command of its own.
set -eu

case "${1:-}" in
    "") set -- nats-server-py -c /etc/nats/nats-server.conf ;;
    -*) set -- nats-server-py "$@" ;;
    nats-server) shift; set -- nats-server-py "$@" ;;
    serve | verify) set -- jetstream-py "$@" ;;
esac
exec "$@"
