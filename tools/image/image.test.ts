import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { withFolders } from './node-files.ts'
import { buildImage, type Image, imageArchive, indexArchive } from './oci.ts'
import { writeTar } from './tar.ts'

const IMAGE: Image = {
  name: 'registry.example.com/a/b:1',
  cpu: 'amd64',
  labels: { 'org.opencontainers.image.version': '1' },
  entrypoint: ['/a'],
  command: ['b'],
  environment: { PATH: '/' },
  user: '1:1',
  ports: [80],
  layers: [[{ kind: 'file', path: 'a', bytes: Buffer.from('hello'), mode: 0o755 }]],
}

/** Passes an archive to tar and returns its output. */
function tar(archive: Buffer, ...args: readonly string[]) {
  const { stdout, status, stderr } = spawnSync('tar', [...args, '-f', '-'], { input: archive })
  assert.equal(status, 0, String(stderr))
  return stdout
}

describe('an archive', () => {
  const archive = writeTar(
    withFolders([
      { kind: 'file', path: 'usr/bin/a', bytes: Buffer.from('hello'), mode: 0o755 },
      { kind: 'file', path: 'usr/empty', bytes: Buffer.alloc(0) },
      { kind: 'file', path: 'usr/block', bytes: Buffer.alloc(512, 'x') },
      { kind: 'link', path: 'usr/b', target: 'bin/a' },
      { kind: 'folder', path: 'tmp', mode: 0o1777 },
    ]),
  )

  it('is read by tar', () => {
    const lines = tar(archive, '--list', '--verbose', '--numeric-owner')
      .toString()
      .trim()
      .split('\n')
    const reported = lines.map((line) =>
      line.replace(/ +/g, ' ').replace(/1970-01-01 \d\d:\d\d /, ''),
    )
    assert.deepEqual(reported, [
      'drwxr-xr-x 0/0 0 usr/',
      'drwxr-xr-x 0/0 0 usr/bin/',
      '-rwxr-xr-x 0/0 5 usr/bin/a',
      '-rw-r--r-- 0/0 0 usr/empty',
      '-rw-r--r-- 0/0 512 usr/block',
      'lrwxrwxrwx 0/0 0 usr/b -> bin/a',
      'drwxrwxrwt 0/0 0 tmp/',
    ])
    assert.equal(tar(archive, '--extract', '--to-stdout', 'usr/bin/a').toString(), 'hello')
  })

  it('rejects paths that are too long', () => {
    const path = 'a'.repeat(101)
    assert.throws(() => writeTar([{ kind: 'folder', path }]), /too long/)
  })
})

describe('an image', () => {
  const archive = imageArchive(buildImage(IMAGE))
  const file = (path: string) => tar(archive, '--extract', '--to-stdout', path)
  const blob = (digest: string) => file(`blobs/${digest.replace(':', '/')}`)
  const [entry] = JSON.parse(file('index.json').toString()).manifests
  const manifest = JSON.parse(blob(entry.digest).toString())
  const config = JSON.parse(blob(manifest.config.digest).toString())

  it('has a name, a platform and an entrypoint', () => {
    assert.equal(entry.annotations['io.containerd.image.name'], IMAGE.name)
    assert.deepEqual(entry.platform, { architecture: 'amd64', os: 'linux' })
    assert.deepEqual(config.config.Entrypoint, ['/a'])
    assert.equal(config.config.User, '1:1')
    assert.deepEqual(config.config.ExposedPorts, { '80/tcp': {} })
  })

  it('has parts of the listed size and digest', async () => {
    const { createHash } = await import('node:crypto')
    const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    for (const { digest, size } of [entry, manifest.config, ...manifest.layers]) {
      assert.equal(blob(digest).length, size)
      assert.equal(sha256(blob(digest)), digest)
    }
    const layer = gunzipSync(blob(manifest.layers[0].digest))
    assert.equal(sha256(layer), config.rootfs.diff_ids[0])
    assert.equal(tar(layer, '--extract', '--to-stdout', 'a').toString(), 'hello')
  })

  it('has the same bytes for the same input', () => {
    assert.ok(imageArchive(buildImage(IMAGE)).equals(archive))
  })
})

describe('images for several platforms', () => {
  const other = buildImage({ ...IMAGE, cpu: 'arm64' })
  const archive = indexArchive([buildImage(IMAGE), other])
  const file = (path: string) => tar(archive, '--extract', '--to-stdout', path)
  const blob = (digest: string) => JSON.parse(file(`blobs/${digest.replace(':', '/')}`).toString())

  it('share one name whose index has a manifest for each', () => {
    const [entry, ...more] = JSON.parse(file('index.json').toString()).manifests
    assert.deepEqual(more, [])
    assert.equal(entry.mediaType, 'application/vnd.oci.image.index.v1+json')
    assert.equal(entry.annotations['io.containerd.image.name'], IMAGE.name)
    const { manifests } = blob(entry.digest)
    for (const [index, architecture] of ['amd64', 'arm64'].entries()) {
      assert.deepEqual(manifests[index].platform, { architecture, os: 'linux' })
      const { config } = blob(manifests[index].digest)
      assert.equal(blob(config.digest).architecture, architecture)
    }
  })

  it('contain shared blobs once', () => {
    const names = tar(archive, '--list').toString().trim().split('\n')
    assert.equal(new Set(names).size, names.length)
  })
})
