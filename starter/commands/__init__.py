"""The commands, in rooms by what they are for; each function is one command.

What several commands share is in the other rooms of `starter`.
"""
