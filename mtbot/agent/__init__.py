"""The agent: what the model is shown, and the loop between its answers and the gate."""
