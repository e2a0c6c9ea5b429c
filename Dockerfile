# syntax=docker/dockerfile:1
# The operator's image, for those who have Docker or Podman: `make docker-build`. `make image` gives the same without either.
# The bundle is the same on every architecture, so it is made where the build runs, and nothing is emulated.
FROM --platform=$BUILDPLATFORM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /operator
COPY package.json package-lock.json ./
RUN npm ci --no-progress --ignore-scripts
COPY src src
COPY tools tools
# The history is not copied: `make docker-build` says which commit it is.
ARG COMMIT=unknown
RUN COMMIT=$COMMIT node tools/bundle.ts root/memcached-operator.mjs

# Node and its libraries; no shell, no package manager.
FROM gcr.io/distroless/nodejs24-debian12:nonroot
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="memcached-operator" \
      org.opencontainers.image.description="A Kubernetes operator for Memcached" \
      org.opencontainers.image.source="https://github.com/c5c3/memcached-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /operator/root/ /
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=32768 NODE_ENV=production
EXPOSE 8081/tcp 8443/tcp 9443/tcp
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=2", "--heap-growing-percent=20", "--incremental-marking-soft-trigger=40", "--incremental-marking-hard-trigger=50", "--single-threaded-gc", "--no-separate-gc-phases", "--memory-saver-mode", "--no-memory-reducer", "--no-turbofan", "--no-node-snapshot", "--expose-gc", "/memcached-operator.mjs"]
