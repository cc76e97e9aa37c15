"""The gate between agent and tools: facts, decision, record, consent, permit, perform, record."""
