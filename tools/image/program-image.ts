import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMAGE_USER, withFolders } from './node-files.ts'
import { type BuiltImage, buildImage, type ImageCpu } from './oci.ts'
import type { TarEntry } from './tar.ts'

interface ProgramImage {
  readonly name: string
  /** The title in the image labels. */
  readonly title: string
  readonly cpu: ImageCpu
  /** Node and its libraries. */
  readonly node: readonly TarEntry[]
  /** The program of the release that the image starts, and its arguments. */
  readonly program: string
  readonly command: readonly string[]
  readonly ports: readonly number[]
  readonly version: string
  /** The folder of the release. */
  readonly dist: string
  /** The release files that go into the image. */
  readonly files: readonly string[]
}

const FOLDER = 'usr/lib/portcullis'

/** Builds the image of a release program, as used by the charts. */
export function programImage(image: ProgramImage): BuiltImage {
  const { name, title, cpu, node, program, command, ports, version, dist, files } = image
  return buildImage({
    name,
    cpu,
    labels: {
      'org.opencontainers.image.title': title,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
    entrypoint: ['/usr/bin/node', `/${FOLDER}/${program}.mjs`],
    command,
    environment: { PATH: '/usr/bin', NODE_ENV: 'production' },
    user: IMAGE_USER,
    ports,
    layers: [
      node,
      withFolders([
        ...files.map((file): TarEntry => {
          return { kind: 'file', path: `${FOLDER}/${file}`, bytes: readFileSync(join(dist, file)) }
        }),
        commandOf(program),
      ]),
    ],
  })
}

/** For `kubectl exec POD -- portcullis why`, without a shell to start it or `env` to find Node. */
function commandOf(program: string): TarEntry {
  const text = `#!/usr/bin/node\nimport('/${FOLDER}/${program}.mjs')\n`
  return { kind: 'file', path: `usr/bin/${program}`, bytes: Buffer.from(text), mode: 0o755 }
}
