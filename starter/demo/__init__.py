"""The demo: the main job on a sample repository, scripted, with a check of the observed events."""
