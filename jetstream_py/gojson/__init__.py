"""JSON as Go's decoder reads it: its leniency, its strictness and its words.

`text` turns bytes into nodes, `fields` declares what a struct may hold, `read` lays nodes over structs.
"""
