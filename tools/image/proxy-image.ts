import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IMAGE_USER, nodeFiles, withFolders } from './node-files.ts'
import { writeImage } from './oci.ts'

interface ProxyImage {
  readonly name: string
  readonly version: string
  /** Where the release is. */
  readonly dist: string
  /** The files of it that go into the image. */
  readonly files: readonly string[]
}

const FOLDER = 'usr/lib/portcullis'

/** The image of the gateway, as the charts use it. */
export function proxyImage({ name, version, dist, files }: ProxyImage): Buffer {
  return writeImage({
    name,
    labels: {
      'org.opencontainers.image.title': 'portcullis-proxy',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
    entrypoint: ['/usr/bin/node', `/${FOLDER}/portcullis.mjs`],
    command: ['run'],
    environment: { PATH: '/usr/bin', NODE_ENV: 'production' },
    user: IMAGE_USER,
    ports: [4000, 15_020, 15_021],
    layers: [
      nodeFiles(),
      withFolders(
        files.map((file) => {
          return { kind: 'file', path: `${FOLDER}/${file}`, bytes: readFileSync(join(dist, file)) }
        }),
      ),
    ],
  })
}
