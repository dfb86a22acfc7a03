"""Sessions, plans, tasks and turns in words, as plain lines of text.

No module here asks the server or writes to a terminal; `starter.console` does the writing.
"""
