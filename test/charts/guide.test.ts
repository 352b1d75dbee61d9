import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse, stringify } from 'yaml'
import { loadText } from '../../src/sources/file/load.ts'
import { options, readObjects, runHelm } from './helm.ts'
import { at, find } from './values.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/tasks/install-on-kubernetes.md'), 'utf8')
const commands = [...page.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) =>
  block.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
)

/**
 * The objects that a `helm install` or `helm upgrade` of the page would create, run from the clone.
 */
function rendered(command: string) {
  const args = command.replace(/^helm (install|upgrade)/, 'template').split(/ +/)
  const known = args.filter((arg) => arg !== '--wait' && arg !== '--create-namespace')
  const paths = known.map((arg) => (existsSync(join(ROOT, arg)) ? join(ROOT, arg) : arg))
  const { status, stdout, stderr } = runHelm(paths)
  assert.equal(status, 0, stderr)
  return readObjects(stdout)
}

describe('the installation guide', options, () => {
  const helm = commands.filter((line) => /^helm (install|upgrade) /.test(line))

  it('has the commands that this test checks', () => assert.equal(helm.length, 3))

  it('begins with building the image', () => {
    assert.deepEqual(commands.slice(0, 2), ['npm ci', 'npm run images'])
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    // The cluster tests install what this builds.
    assert.equal(scripts.images, 'node tools/release.ts')
  })

  for (const command of helm) {
    it(`${command}: is rendered`, () => assert.ok(rendered(command).length > 0))
  }

  it('the guarded service is the sample service', () => {
    const [, orders = '', upgrade = ''] = helm
    const objects = rendered(orders)
    const service = objects.find(({ kind }) => kind === 'Service')
    const host = `${service?.metadata.name}.${service?.metadata.namespace}.svc.cluster.local`
    const map = rendered(upgrade).find(({ kind }) => kind === 'ConfigMap')
    const file = parse(at(map, 'data["config.yaml"]') as string)
    assert.equal(file.routes[0].backends[0].host, `${host}:${at(service, 'spec.ports[0].port')}`)
  })

  it('the gateway accepts the key set of the sample issuer', () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-guide-'))
    const script = join(ROOT, 'examples/kubernetes/token.mjs')
    const { stdout } = spawnSync(process.execPath, [script, 'bob'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const [, claims = ''] = stdout.split('.')
    assert.equal(JSON.parse(String(Buffer.from(claims, 'base64url'))).sub, 'bob')
    const maps = rendered(helm[2] ?? '').filter(
      ({ metadata }) => metadata.annotations === undefined,
    )
    const file = parse(at(find(maps, 'ConfigMap'), 'data["config.yaml"]') as string)
    file.routes[0].policies.jwtAuthentication.providers[0].jwks.file = join(folder, 'jwks.json')
    const { diagnostics } = loadText(stringify(file), 'config.yaml', { environment: {} }).result
    rmSync(folder, { recursive: true })
    assert.deepEqual(diagnostics, [])
  })
})

describe('the documentation of the charts', () => {
  const text = (path: string) => readFileSync(join(ROOT, 'charts', path), 'utf8')

  it('claims no published image, neither in the notes nor in the README of the control plane', () => {
    for (const path of ['portcullis/templates/NOTES.txt', 'portcullis/README.md']) {
      assert.match(text(path), /No image is published yet/, path)
    }
  })

  it('describes how to reduce the access log, and what native histograms need', () => {
    const readme = text('portcullis-standalone/README.md')
    assert.match(readme, /Every request is a line in the access log[\s\S]*accessLog:\n\s+filter:/)
    for (const path of ['portcullis-standalone/values.yaml', 'portcullis/values.yaml']) {
      assert.match(
        text(path),
        /# -- Scrapes native histograms; requires Prometheus .* operator 0\.88/,
      )
    }
  })
})
