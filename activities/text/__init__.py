"""Text made safe: visible characters only, without secrets, without lone surrogates.

JSON that someone else wrote is read here as well: what is of another type counts as absent.

What a model gets of a tool's output is in `activities.toolset.observations`, of a gate's in
`activities.gates.output_excerpt`. Words for people belong in `starter.views`.
"""
