"""Frozen values of the domain. No behaviour beyond their own validity."""
