"""One adapter per model dialect; all implement `activities.ports.model_provider.ModelProvider`."""
