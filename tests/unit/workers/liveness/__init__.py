"""Signs of life of workers."""
