"""Streams as Parquet: export and import. Needs pyarrow (`pip install 'jetstream-py[export]'`)."""
