"""The installed command, as a person or a service manager runs it."""
