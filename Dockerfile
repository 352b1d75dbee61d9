# The image of the gateway. `npm run release` makes the same without a container engine.
FROM node:26-bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run release && strip --strip-all -o /node "$(command -v node)"

# No shell and no package manager: Node, what it loads, and one program.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /node /usr/bin/node
COPY --from=build /src/dist/*.mjs /src/dist/*.cjs /src/dist/*.code /src/dist/package.json /src/dist/NOTICES.md /src/dist/LICENSE /src/dist/portcullis.cdx.json /usr/lib/portcullis/
COPY --from=build /src/dist/ui /usr/lib/portcullis/ui
ENV PATH=/usr/bin NODE_ENV=production
USER 65532:65532
EXPOSE 4000 15020 15021
ENTRYPOINT ["/usr/bin/node", "/usr/lib/portcullis/portcullis.mjs"]
CMD ["run"]
