"""The tools that a model may call; each performs only with a permit, and says what it touches."""
