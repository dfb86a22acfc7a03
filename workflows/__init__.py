"""The deterministic core: workflows, the values they exchange, and the pure policy they follow."""
