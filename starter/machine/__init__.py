"""What a command needs from this machine: server, workers, disk, clock, programs, checks.

Information about sessions on the server belongs in `starter.sessions`.
"""
