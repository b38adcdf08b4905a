"""Subjects made from subjects: `rules` checks what is asked for, `make` does it, `rename` goes both ways."""
