import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type TarEntry, writeTar } from './tar.ts'

export interface Image {
  /** `registry/repository:tag` */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: string
  readonly ports: readonly number[]
  /** From the one that changes least to the one that changes most. */
  readonly layers: readonly (readonly TarEntry[])[]
}

interface Blob {
  readonly digest: string
  readonly bytes: Buffer
}

const MEDIA = 'application/vnd.oci.image'

/** An image as an OCI archive, which `docker load`, `ctr images import` and `skopeo` take. */
export function writeImage(image: Image): Buffer {
  const layers = image.layers.map((entries) => {
    const tar = writeTar(entries)
    return { diffId: digestOf(tar), blob: toBlob(gzipSync(tar, { level: 6 })) }
  })
  const config = jsonBlob({
    architecture: 'amd64',
    os: 'linux',
    config: {
      Entrypoint: image.entrypoint,
      Cmd: image.command,
      Env: Object.entries(image.environment).map(([name, value]) => `${name}=${value}`),
      User: image.user,
      WorkingDir: '/',
      ExposedPorts: Object.fromEntries(image.ports.map((port) => [`${port}/tcp`, {}])),
      Labels: image.labels,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created_by: 'npm run release' })),
  })
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: `${MEDIA}.manifest.v1+json`,
    config: descriptor(`${MEDIA}.config.v1+json`, config),
    layers: layers.map(({ blob }) => descriptor(`${MEDIA}.layer.v1.tar+gzip`, blob)),
    annotations: image.labels,
  })
  const index = {
    schemaVersion: 2,
    mediaType: `${MEDIA}.index.v1+json`,
    manifests: [
      {
        ...descriptor(`${MEDIA}.manifest.v1+json`, manifest),
        platform: { architecture: 'amd64', os: 'linux' },
        annotations: {
          'io.containerd.image.name': image.name,
          'org.opencontainers.image.ref.name': image.name.split(':').at(-1),
        },
      },
    ],
  }
  const blobs = [config, manifest, ...layers.map(({ blob }) => blob)]
  return writeTar([
    { kind: 'file', path: 'oci-layout', bytes: toBytes({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', bytes: toBytes(index) },
    { kind: 'folder', path: 'blobs' },
    { kind: 'folder', path: 'blobs/sha256' },
    ...blobs.map(({ digest, bytes }) => {
      return { kind: 'file', path: `blobs/${digest.replace(':', '/')}`, bytes } as const
    }),
  ])
}

function descriptor(mediaType: string, { digest, bytes }: Blob) {
  return { mediaType, digest, size: bytes.length }
}

function jsonBlob(value: unknown): Blob {
  return toBlob(toBytes(value))
}

function toBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function toBlob(bytes: Buffer): Blob {
  return { digest: digestOf(bytes), bytes }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
