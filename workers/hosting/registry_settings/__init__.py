"""The person's own settings of package tools: indexes, credentials, certificates.

Read on the host, never from a repository. Credentials are separated from addresses at once.
"""
