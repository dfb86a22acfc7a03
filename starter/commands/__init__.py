"""The commands, in one folder for each purpose; each function is one command.

What several commands share is in the other rooms of `starter`.
"""
