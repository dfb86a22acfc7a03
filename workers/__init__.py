"""Processes: settings, wiring of adapters into activities, and the embedded server."""
