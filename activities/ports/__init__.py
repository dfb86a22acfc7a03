"""The protocols through which activities reach the outside world."""
