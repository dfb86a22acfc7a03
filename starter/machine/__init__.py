"""What a command needs from this machine: server, workers, disk, clock, programs, checks.

What a session on the server says belongs in `starter.sessions`.
"""
