"""Take a promise away and see a test fail."""
