"""Runs the revisions on the connection that storage/schema hands over; there is no other way to start them."""

from alembic import context

from mtbot.storage.schema import VERSION_TABLE
from mtbot.storage.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table by building it anew
)
with context.begin_transaction():
    context.run_migrations()
