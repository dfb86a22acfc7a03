"""Places that messages are sent to: the services that Apprise knows, and signed webhooks."""
