"""Pure decisions: facts in, decision out. No clock, no logger, no input or output."""
