# capeval serve in a container, without root: docker build -t capeval . && docker run --rm -p 8765:8765 -e CAPEVAL_TOKEN=secret capeval
FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python -m venv /capeval && /capeval/bin/pip install --no-cache-dir ./packages/models ./packages/unified \
    '.[web,learned,report,parquet]'

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 10001 capeval
COPY --from=build /capeval /capeval
USER capeval
WORKDIR /home/capeval
ENV PATH=/capeval/bin:$PATH PYTHONUNBUFFERED=1
EXPOSE 8765
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=5)"]
# Beyond the container's own loopback a token is demanded: CAPEVAL_TOKEN, else one is made up and told in the log.
CMD ["capeval", "serve", "--host", "0.0.0.0", "--port", "8765"]
