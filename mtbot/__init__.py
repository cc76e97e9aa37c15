"""mtclaw: a Telegram chat-ops bot whose every command passes one policy and leaves one record."""
