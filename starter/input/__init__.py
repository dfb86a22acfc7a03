"""What a person types or passes in a file: goals, plans, amounts, session ids, options.

Configuration files are read in `starter.configuration`.
"""
