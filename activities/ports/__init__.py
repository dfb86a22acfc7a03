"""What activities need from the world, as protocols."""
