# The workers of docker-compose.yml: one image, the role is an argument.
FROM python:3.12-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/blueflame
COPY LICENSE README.md pyproject.toml requirements.lock ./
COPY docker/runtime-only ./docker/
# By hash and from wheels only, as scripts/setup does; what only checks need goes again.
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock \
    && python docker/runtime-only pyproject.toml | xargs pip uninstall --yes --quiet
COPY activities ./activities
COPY starter ./starter
COPY workers ./workers
COPY workflows ./workflows
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

ARG UID=1000
# Named volumes take the owner of the directory that they cover.
RUN useradd --uid "$UID" --create-home blueflame \
    && install --directory --owner "$UID" --mode 0700 \
        /var/lib/blueflame /var/lib/blueflame/host /var/lib/blueflame/store
USER blueflame
WORKDIR /var/lib/blueflame
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["python", "-P", "-m", "workers"]
