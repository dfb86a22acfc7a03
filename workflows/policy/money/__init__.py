"""Decisions about money and disk: what a call can cost, what the ledger grants, amounts in words.

Prices are facts from `workflows.domain.agent.model_values`.
"""
