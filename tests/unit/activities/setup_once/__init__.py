"""Set-up of a project, run once."""
