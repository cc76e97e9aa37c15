"""Language models behind their APIs."""
