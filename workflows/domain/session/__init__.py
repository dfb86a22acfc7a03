"""Values of a session: its request, configuration, state, waves, decisions and notices.

Plans, tasks and changesets are beside this folder, because every room uses them.
"""
