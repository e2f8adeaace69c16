# The server, without tools for development, as a user without rights.
#   docker build -t acc-ace .
#   docker run --rm -p 8000:8000 -e ACC_ACE_AUTH_TOKENS=you:a-long-random-token acc-ace

FROM python:3.12-slim AS build
WORKDIR /app
RUN python -m venv /app/.venv
COPY requirements.server.lock ./
RUN /app/.venv/bin/pip install --no-cache-dir --compile --no-deps --require-hashes -r requirements.server.lock
COPY . .
# The build backend is needed here only; what runs has its hash in the lock file above.
RUN /app/.venv/bin/pip install --no-cache-dir --compile --no-deps .

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin acc \
    && install -d -o acc -g acc -m 0700 /data
# The base image has no bytecode of the standard library, and the server may write none.
RUN python -m compileall -q -x '/(tests?|lib2to3|site-packages)/' /usr/local/lib/python3.12
WORKDIR /app
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ACC_ACE_DATA_DIR=/data \
    ACC_ACE_HOST=0.0.0.0 \
    ACC_ACE_PORT=8000 \
    ACC_ACE_SERVE_WEB_INTERFACE=false
USER acc
VOLUME /data
EXPOSE 8000
# HTTP/1.0 names no host, so ACC_ACE_TRUSTED_HOSTS does not matter to the probe.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", \
    "import os, socket, sys; s = socket.create_connection(('127.0.0.1', int(os.environ['ACC_ACE_PORT'])), 4); s.sendall(b'GET /readyz HTTP/1.0\\r\\n\\r\\n'); sys.exit(b' 200 ' not in s.recv(64))"]
# SIGTERM lets running turns finish.
STOPSIGNAL SIGTERM
CMD ["acc-ace", "serve"]
