"""Commands about the installation: configuration, workers, models, keys, clean-up.

None of them needs a session.
"""
