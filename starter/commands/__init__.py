"""One module for each group of commands; each function is one command."""
