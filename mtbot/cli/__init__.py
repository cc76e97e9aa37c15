"""The command line: a table of verbs, each loaded only when it is used."""
