"""What activities find out about a repository: its brief, copied files, warnings, the checked diff.

git itself is called in `activities.adapters.git`.
"""
