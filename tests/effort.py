"""How many examples a property gets that costs more than others."""

from hypothesis import HealthCheck, settings

_USUAL = 100


def examples(count: int) -> settings:
    """Give a property `count` examples in an ordinary run, and else in proportion to the others.

    Its fixtures may be those of one function: they are shared by all examples.

    Args:
        count: for the usual profile, which gives other properties 100.
    """
    scaled = count * settings().max_examples // _USUAL
    return settings(
        max_examples=max(1, scaled),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
