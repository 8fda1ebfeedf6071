# The image of a server; docs/operations/container.md says how to run it.

# Packages come from the registry inside the image, never from the machine that builds: npm chooses the
# runtime of the image's own platform, so `docker build --platform linux/arm64` works anywhere.
FROM node:24-bookworm-slim AS packages
WORKDIR /opt/holdfast
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY plugin-sdk/package.json plugin-sdk/
COPY client/package.json client/
COPY engines/package.json engines/
COPY plugins/postgresql/package.json plugins/postgresql/
# The runtime's header files are a third of it, and nothing is compiled.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/node-*/include node_modules/node-*/share

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends libatomic1 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 8200 holdfast \
 && useradd --uid 8200 --gid 8200 --no-create-home --home-dir /nonexistent \
      --shell /usr/sbin/nologin holdfast \
 && install -d -m 700 -o 8200 -g 8200 /data \
 && install -d -m 755 /etc/holdfast \
 && ln -s /opt/holdfast/bin/holdfast /usr/local/bin/holdfast
COPY --from=packages /opt/holdfast/node_modules /opt/holdfast/node_modules
COPY package.json package-lock.json LICENSE docs/operations/container.hcl /opt/holdfast/
COPY bin /opt/holdfast/bin
COPY src /opt/holdfast/src
COPY shared /opt/holdfast/shared
COPY plugin-sdk /opt/holdfast/plugin-sdk
COPY client /opt/holdfast/client
COPY engines /opt/holdfast/engines

# By number, so that an orchestrator sees that it is not root.
USER 8200:8200
WORKDIR /data
VOLUME /data
EXPOSE 8200
ENV HOLDFAST_ADDR=unix:///data/api.sock

# A sealed server is well: it waits for shares, and a restart would only make it forget those it has.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
  CMD ["/opt/holdfast/bin/holdfast", "status", "-alive"]

ENTRYPOINT ["/opt/holdfast/bin/holdfast"]
CMD ["server", "--config", "/opt/holdfast/container.hcl", "--config", "/etc/holdfast"]
