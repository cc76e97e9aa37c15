# The bot in a container of its own: what an approved command can reach is what this container can reach.
FROM python:3.11-slim-bookworm

RUN apt-get update \
 && apt-get install --yes --no-install-recommends git procps \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 mtclaw

COPY requirements.lock /opt/mtclaw/
RUN pip install --no-cache-dir --require-hashes --requirement /opt/mtclaw/requirements.lock
COPY pyproject.toml README.md LICENSE /opt/mtclaw/
COPY mtbot /opt/mtclaw/mtbot
COPY migrations /opt/mtclaw/migrations
RUN pip install --no-cache-dir --no-build-isolation --no-deps /opt/mtclaw

USER mtclaw
WORKDIR /home/mtclaw
# doctor says what is wrong when the gateway will not start
CMD ["mtclaw", "gateway"]
