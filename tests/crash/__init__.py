"""Kill the gateway with SIGKILL and look at what is left."""
