"""The tables of attacks; each module is one field."""
