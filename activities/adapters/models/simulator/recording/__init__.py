"""A way to the real providers that writes down, as a playbook, what is said on it.

Requests and answers pass unchanged. What an answer says is read by the product's own adapters, so a
recording holds what a session would have made of it, and nothing is parsed twice in two ways.
"""
