"""The gateway: what comes in, whose turn it is, what goes out, and what is left after a crash."""
