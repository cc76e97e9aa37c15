"""Is this installation fit to serve? Probes gather, checks judge."""
