import { createHash } from 'node:crypto'
import { gzip } from '../release/gzip.ts'
import { type TarEntry, writeTar } from './tar.ts'

export type ImageCpu = 'amd64' | 'arm64'

export interface Image {
  /** `registry/repository:tag` */
  readonly name: string
  readonly cpu: ImageCpu
  readonly labels: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: string
  readonly ports: readonly number[]
  /** Ordered from the layer that changes least to the layer that changes most. */
  readonly layers: readonly (readonly TarEntry[])[]
}

interface Blob {
  readonly digest: string
  readonly bytes: Buffer
}

/** An image whose blobs are built; an archive contains one or several. */
export interface BuiltImage {
  readonly image: Image
  readonly manifest: Blob
  readonly blobs: readonly Blob[]
}

const MEDIA = 'application/vnd.oci.image'

export function buildImage(image: Image): BuiltImage {
  const layers = image.layers.map(layerOf)
  const config = jsonBlob({
    architecture: image.cpu,
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
  return { image, manifest, blobs: [config, manifest, ...layers.map(({ blob }) => blob)] }
}

interface Layer {
  readonly diffId: string
  readonly blob: Blob
}

/** Cache of packed layers: several images share Node, which takes seconds to pack. */
const packed = new WeakMap<readonly TarEntry[], Layer>()

function layerOf(entries: readonly TarEntry[]): Layer {
  const known = packed.get(entries)
  if (known !== undefined) return known
  const tar = writeTar(entries)
  const layer = { diffId: digestOf(tar), blob: toBlob(gzip(tar)) }
  packed.set(entries, layer)
  return layer
}

/** An image as an OCI archive for `docker load`, `ctr images import` and `skopeo`. */
export function imageArchive(built: BuiltImage): Buffer {
  return writeArchive(built.image.name, platformEntry(built), built.blobs)
}

/** The archive of an image for amd64. */
export function writeImage(image: Omit<Image, 'cpu'>): Buffer {
  return imageArchive(buildImage({ ...image, cpu: 'amd64' }))
}

/** One archive with images for several platforms: a registry serves the one that matches. */
export function indexArchive(built: readonly [BuiltImage, ...BuiltImage[]]): Buffer {
  const index = jsonBlob({
    schemaVersion: 2,
    mediaType: `${MEDIA}.index.v1+json`,
    manifests: built.map(platformEntry),
  })
  const entry = descriptor(`${MEDIA}.index.v1+json`, index)
  return writeArchive(built[0].image.name, entry, [index, ...built.flatMap(({ blobs }) => blobs)])
}

function platformEntry({ image, manifest }: BuiltImage) {
  const platform = { architecture: image.cpu, os: 'linux' }
  return { ...descriptor(`${MEDIA}.manifest.v1+json`, manifest), platform }
}

function writeArchive(name: string, entry: object, all: readonly Blob[]): Buffer {
  const annotations = {
    'io.containerd.image.name': name,
    'org.opencontainers.image.ref.name': name.split(':').at(-1),
  }
  const index = {
    schemaVersion: 2,
    mediaType: `${MEDIA}.index.v1+json`,
    manifests: [{ ...entry, annotations }],
  }
  const blobs = new Map(all.map(({ digest, bytes }) => [digest, bytes]))
  return writeTar([
    { kind: 'file', path: 'oci-layout', bytes: toBytes({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', bytes: toBytes(index) },
    { kind: 'folder', path: 'blobs' },
    { kind: 'folder', path: 'blobs/sha256' },
    ...Array.from(blobs, ([digest, bytes]) => {
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
