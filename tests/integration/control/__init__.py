"""Escapes: what the bot runs tries to speak at the control socket."""
