"""Commands confined: bubblewrap, the honest absence of a sandbox, and what both need."""
