"""The tools that a model may call: their schemas, their strict arguments, and their running."""
