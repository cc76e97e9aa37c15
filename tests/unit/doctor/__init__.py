"""Doctor: probes and checks."""
