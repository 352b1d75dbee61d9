import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMAGE_USER, withFolders } from './node-files.ts'
import { type BuiltImage, buildImage, type ImageCpu } from './oci.ts'
import type { TarEntry } from './tar.ts'

interface ProgramImage {
  readonly name: string
  /** What it is called in labels. */
  readonly title: string
  readonly cpu: ImageCpu
  /** Node and what it loads. */
  readonly node: readonly TarEntry[]
  /** The program of the release that it starts, and with what. */
  readonly program: string
  readonly command: readonly string[]
  readonly ports: readonly number[]
  readonly version: string
  /** Where the release is. */
  readonly dist: string
  /** The files of it that go into the image. */
  readonly files: readonly string[]
}

const FOLDER = 'usr/lib/portcullis'

/** The image of a program of the release, as the charts use it. */
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

/** `kubectl exec POD -- portcullis why`: there is no shell to start it, and no `env` to find Node. */
function commandOf(program: string): TarEntry {
  const text = `#!/usr/bin/node\nimport('/${FOLDER}/${program}.mjs')\n`
  return { kind: 'file', path: `usr/bin/${program}`, bytes: Buffer.from(text), mode: 0o755 }
}
