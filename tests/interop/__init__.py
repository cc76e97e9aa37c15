"""Our clients against programs that others wrote."""
