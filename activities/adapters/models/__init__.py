"""One adapter per model dialect; all implement `activities.ports.models.ModelProvider`."""
