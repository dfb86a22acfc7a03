"""Whatever a person gives us is refused or taken in plain words, and leaves nothing behind."""
