"""One YAML file in, one frozen value out: what the owner decided, checked as a whole before anything starts."""
