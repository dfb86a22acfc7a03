"""What the person's own settings of package tools say: indexes, credentials, certificates.

Read on the host, never from a repository. Credentials are taken apart from addresses at once.
"""
