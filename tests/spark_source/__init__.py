"""`format("jetstream")`. What needs no Spark is tested without; all of it on both servers."""
