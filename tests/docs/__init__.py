"""The pages say what the program does."""
