"""The stores against real databases."""
