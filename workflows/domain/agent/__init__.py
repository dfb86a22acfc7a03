"""Values around one agent: request, state, messages, models, and the tree of a shell command.

Values of a whole session are in `workflows.domain.session`.
"""
