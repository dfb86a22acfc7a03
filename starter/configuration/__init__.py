"""Reading, checking, showing and writing `blueflame.yaml`: layers, values, schema, migration.

Routes to models are in `model_routes`; settings of processes are in `workers.settings`.
"""
