"""Errors of a configuration. Messages are for the person and say what to do next.

CommandError
└── ConfigurationError       the file, a key or a flag is wrong
    └── NoModelsError        nothing is wrong, but no model is configured
"""

from starter.console.command_errors import CommandError


class ConfigurationError(CommandError):
    """The configuration cannot be used; one complaint per line, each with its place."""


class NoModelsError(ConfigurationError):
    """No model is configured for some role; the message names the three ways to get one."""
