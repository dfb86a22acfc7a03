"""The roles' system prompts, one Markdown file each."""
