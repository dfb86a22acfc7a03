"""Hosting services: one module for each API, and what they share.

GitHub, GitLab, and Gitea with Forgejo, by their REST APIs over httpx. No message holds a token.
"""
