"""Scheduled prompts: what a crontab line means, and the clockwork that starts its runs."""
