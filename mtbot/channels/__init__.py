"""Surfaces on which people reach the bot: each asks and speaks in its own way, none decides what is allowed."""
