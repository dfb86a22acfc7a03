"""What a person decides: which acts are allowed when, what each changes, edits of the plan.

Scheduling, outcomes of waves and the session's view are in `workflows.policy.session`.
"""
