"""Rules of a repository's queue of goals. What starts a session is `workflows.schedules`."""
