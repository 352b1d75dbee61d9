import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseAllDocuments, stringify } from 'yaml'
import { makeAuthority, makeServingCertificate } from '../xds/certificate.ts'
import { runWith } from './fixtures/run.ts'

const CASE = join(import.meta.dirname, '../controller/translate/cases/specification-http.yaml')

interface Item {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

/** Further objects in the cluster: the controller creates the class. */
const CLASS = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'portcullis' },
  spec: { controllerName: 'portcullis.dev/controller' },
}

describe('cluster objects at the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const objects: Item[] = [
    ...parseAllDocuments(readFileSync(CASE, 'utf8')).map((one) => one.toJS() as Item),
    CLASS,
  ]
  /** Plural names of kinds that may not be listed. */
  const forbidden = new Set<string>()
  const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }
  const authority = makeAuthority('test', validity)
  const { cert, key } = makeServingCertificate(authority, ['localhost'], validity)
  const asked: string[] = []
  /**
   * Acts like an API server: paginated lists, items without their kind, 404 for kinds that are not
   * installed.
   */
  const server = createServer({ cert, key }, (request, response) => {
    const url = new URL(request.url ?? '', 'https://localhost')
    asked.push(`${request.headers.authorization} ${request.method}`)
    const [group, plural = ''] = [
      url.pathname.split('/').slice(2, -1).join('/'),
      url.pathname.split('/').at(-1),
    ]
    const respond = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (forbidden.has(plural)) return respond(403, { message: `may not list ${plural}` })
    const all = objects.filter(({ apiVersion, kind }) => {
      const many = /[^aeiou]y$/.test(kind)
        ? `${kind.toLowerCase().slice(0, -1)}ies`
        : `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`
      return apiVersion === group && many === plural
    })
    if (all.length === 0 && plural !== 'secrets') return respond(404, { message: 'not found' })
    const from = Number(url.searchParams.get('continue') ?? 0)
    const items = all.slice(from, from + 1).map(({ apiVersion: _, kind: __, ...rest }) => rest)
    const next = from + 1 < all.length ? { continue: String(from + 1) } : {}
    return respond(200, { metadata: next, items })
  })
  const kubeconfig = join(folder, 'kubeconfig')
  const file = join(folder, 'all.yaml')
  const known = process.env['KUBECONFIG']

  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const ca = Buffer.from(authority.cert).toString('base64')
    const config = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        {
          name: 'c',
          cluster: { server: `https://localhost:${port}`, 'certificate-authority-data': ca },
        },
      ],
      users: [{ name: 'u', user: { token: 'own-token' } }],
    }
    writeFileSync(kubeconfig, stringify(config))
    writeFileSync(file, objects.map((one) => stringify(one)).join('---\n'))
    process.env['KUBECONFIG'] = kubeconfig
  })
  after(() => {
    server.close()
    server.closeAllConnections()
    rmSync(folder, { recursive: true })
    if (known === undefined) delete process.env['KUBECONFIG']
    else process.env['KUBECONFIG'] = known
  })

  it('yield the same as the same objects in a file, for effective and lint', async () => {
    for (const command of ['effective', 'lint']) {
      const [cluster, manifests] = [
        await runWith([command, '--cluster', '--json']),
        await runWith([command, file, '--json']),
      ]
      assert.deepEqual(cluster.out, manifests.out, cluster.err)
      assert.equal(cluster.code, manifests.code)
      assert.match(cluster.out, command === 'effective' ? /HTTPRoute\/apps\/orders/ : /errors/)
    }
    assert.ok(asked.every((one) => one === 'Bearer own-token GET'))
  })

  it('are accepted by explain and diff', async () => {
    const request = ['-r', 'GET /orders/1', '-H', 'host: orders.example.com']
    const explained = await runWith(['explain', '--cluster', ...request])
    assert.match(explained.out, /401/, explained.err)
    const same = await runWith(['diff', '--cluster', file, '--fail-on-change'])
    assert.equal(same.code, 0, `${same.out}${same.err}`)
    const changed = join(folder, 'changed.yaml')
    const text = readFileSync(file, 'utf8')
    writeFileSync(changed, text.replaceAll("'alice'", "'mallory'"))
    assert.notEqual(readFileSync(changed, 'utf8'), text)
    const differs = await runWith(['diff', '--cluster', changed, '--fail-on-newly-admitted'])
    assert.equal(differs.code, 1, differs.err)
    assert.match(differs.out, /mallory/)
  })

  it('objects that may not be listed are assumed to exist', async () => {
    forbidden.add('services')
    try {
      const { code, out, err } = await runWith(['effective', '--cluster'])
      assert.equal(code, 0, err)
      assert.match(out, /orders/)
    } finally {
      forbidden.clear()
    }
  })

  it('reports a cluster that cannot be read, without assuming a configuration', async () => {
    process.env['KUBECONFIG'] = join(folder, 'nowhere')
    try {
      const { code, err } = await runWith(['effective', '--cluster'])
      const file = join(folder, 'nowhere')
      assert.equal(code, 1)
      assert.equal(
        err,
        `portcullis effective: cannot read the cluster: ${file}: no such file or directory\n`,
      )
    } finally {
      process.env['KUBECONFIG'] = kubeconfig
    }
  })
})
