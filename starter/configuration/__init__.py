"""Reading, checking, showing and writing `blueflame.yaml`: layers, values, schema, migration.

A session's defaults are in `workflows.domain.session.session_config`; settings of processes are
in `workers.settings`.
"""
