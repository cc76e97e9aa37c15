"""Keep secrets inside the process and make what is shown honest: patterns, mask, stream and display."""
