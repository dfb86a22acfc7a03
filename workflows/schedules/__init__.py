"""What schedules start: one workflow each time that a schedule fires, which starts a session.

No cron expressions: Temporal's own schedules have them.
"""
