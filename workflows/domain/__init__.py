"""Frozen values of the domain. They only validate themselves."""
