"""Effects: thin activities over ports, and the adapters that implement the ports."""
