// Follows the pages of docs/tasks about policies in a cluster: applies their manifests, runs their
// commands, and checks the promised results. Only ports and keys differ.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect } from 'node:tls'
import { parseAllDocuments } from 'yaml'
import { GATEWAY_API, type Plane, PORTCULLIS_API } from './plane.ts'
import { certificate } from './specification-objects.ts'
import { PROVIDER, tokenOf } from './tokens.ts'

const ROOT = join(import.meta.dirname, '../..')
const GROUP = 'gateway.networking.k8s.io'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: Record<string, unknown>
}

/** The manifests and the commands of a page, in order. */
function pageOf(name: string) {
  const page = readFileSync(join(ROOT, 'docs/tasks', `${name}.md`), 'utf8')
  const blocks = [
    ...page.matchAll(/<<'(?<end>\w+)'\n(?<text>.*?)\n\s*\k<end>$/gms),
    ...page.matchAll(/^```yaml\n(?<text>apiVersion:.*?)^```/gms),
  ].map(({ groups }) => dedent(groups?.['text'] ?? ''))
  const manifests = blocks.flatMap((text) =>
    parseAllDocuments(text).map((one) => one.toJS() as Manifest),
  )
  const commands = [...page.matchAll(/^\s*kubectl (.*)$/gm)].map(([, args = '']) => args)
  return { manifests, commands }
}

function dedent(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? ''
  return text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
}

export function describePages(planeHere: () => Plane): void {
  describe('the pages about policies in a cluster', () => {
    let plane: Plane
    let [http, tls] = [0, 0]

    before(async () => {
      plane = planeHere()
      const first = plane.take(2)
      ;[http, tls] = [first, first + 1]
      const behind = await plane.serve((_, response) => response.end('served'))
      plane.apply(
        ...plane.serviceOf('web', behind).map((one) => withPort(one, 80)),
        ...plane.serviceOf('orders', behind, 'shop'),
        certificate(),
      )
    })
    // Other suites use objects with these names.
    after(() => {
      plane.cluster.kubectl([
        ...['-n', 'apps', 'delete', '--ignore-not-found', 'gateway/edge', 'gateway/tls-gateway'],
        ...['httproute/web', 'httproute/orders', 'httproute/shop', 'tlsroute/names'],
        ...['service/web', 'endpointslice/web-1', 'secret/cert'],
        ...['proxypolicy/only-internal', 'proxypolicy/orders-team', 'proxypolicy/only-eng'],
        'proxypolicy/allowed-names',
      ])
      plane.cluster.kubectl([
        ...['-n', 'shop', 'delete', '--ignore-not-found', 'proxypolicy/read-only'],
        ...['referencegrant/routes', 'service/orders', 'endpointslice/orders-1'],
      ])
    })

    const run = (args: string) => plane.cluster.kubectl(['-n', 'apps', ...args.split(' ')])
    const apply = (...manifests: readonly object[]) => {
      for (const one of manifests) {
        const { metadata } = one as Manifest
        plane.apply({ ...one, metadata: { namespace: 'apps', ...metadata } })
      }
    }
    const policyPath = (name: string, namespace = 'apps') =>
      `${PORTCULLIS_API}/namespaces/${namespace}/proxypolicies/${name}`
    const programmed = (name: string, namespace?: string) =>
      plane.conditions(policyPath(name, namespace), {
        Accepted: 'True Accepted',
        Attached: 'True Attached',
        RulesHealthy: 'True Healthy',
        Programmed: 'True Programmed',
      })
    const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
      new Promise<number>((resolve, reject) => {
        const where = { host: '127.0.0.1', port: http, path, method, headers, agent: false }
        const sent = request(where, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        sent.on('error', reject)
        sent.end()
      })
    const route = (name: string, path: string, ref: object) => ({
      apiVersion: `${GROUP}/v1`,
      kind: 'HTTPRoute',
      metadata: { name },
      spec: {
        parentRefs: [{ name: 'edge' }],
        rules: [{ matches: [{ path: { value: path } }], backendRefs: [ref] }],
      },
    })

    it('first-gateway', async () => {
      const { manifests, commands } = pageOf('first-gateway')
      const [gateway, web, policy] = manifests as [Manifest, Manifest, Manifest]
      const [listener] = gateway.spec['listeners'] as [object]
      const listeners = [{ ...listener, port: http }]
      apply({ ...gateway, spec: { ...gateway.spec, listeners } }, web)
      await plane.giveAddress('edge')
      await plane.startProxy('edge')
      // A command blocks this process, through which the controller reaches the API server.
      await plane.conditions(`${GATEWAY_API}/namespaces/apps/gateways/edge`, {
        Programmed: 'True Programmed',
      })
      const waits = commands.filter((one) => one.startsWith('wait '))
      assert.equal(waits.length, 2)
      for (const one of waits) run(one)
      assert.match(run('get gateway edge'), /192\.0\.2\.7/)
      apply(policy)
      await programmed('only-internal')
      assert.equal(await ask('/'), 403)
      assert.equal(await ask('/', { 'x-internal': 'true' }), 200)
      run('delete proxypolicy only-internal')
    })

    it('protect-a-route', async () => {
      const { manifests, commands } = pageOf('protect-a-route')
      const [policy] = manifests as [Manifest]
      const traffic = policy.spec['traffic'] as { readonly jwtAuthentication: object }
      const jwtAuthentication = { ...traffic.jwtAuthentication, providers: [PROVIDER] }
      apply(route('orders', '/orders', { name: 'web', port: 80 }), {
        ...policy,
        spec: { ...policy.spec, traffic: { ...traffic, jwtAuthentication } },
      })
      await programmed('orders-team')
      const [list = ''] = commands.filter((one) => one.startsWith('get '))
      const [titles = '', row = ''] = run(list).split('\n')
      assert.match(titles, /ACCEPTED +ATTACHED +HEALTHY +PROGRAMMED/)
      assert.match(row, /^orders-team .*(True +){4}/)
      const token = (group: string) => ({ authorization: `Bearer ${tokenOf({ sub: 'a', group })}` })
      assert.equal(await ask('/orders'), 401)
      assert.equal(await ask('/orders', token('ops')), 403)
      assert.equal(await ask('/orders', token('eng')), 200)
    })

    it('try-rules-first', async () => {
      const [policy] = pageOf('try-rules-first').manifests as [Manifest]
      apply(policy)
      // Another policy verifies the tokens: this policy does not see the claims, and reports that.
      const { RulesHealthy } = await plane.conditions(policyPath('only-eng'), {
        Programmed: 'True Programmed',
        RulesHealthy: 'False NeverMatches',
      })
      assert.match(RulesHealthy?.message ?? '', /jwt/)
      const authorization = `Bearer ${tokenOf({ sub: 'a', group: 'eng' })}`
      assert.equal(await ask('/orders', { authorization }), 200)
      run('delete proxypolicy only-eng')
    })

    it('read-a-policy-status', () => {
      const { commands } = pageOf('read-a-policy-status')
      assert.equal(commands.length, 2)
      const [list = '', whole = ''] = commands.map(run)
      assert.match(list, /orders-team/)
      for (const type of ['Accepted', 'Attached', 'RulesHealthy', 'Programmed']) {
        assert.ok(whole.includes(`type: ${type}`), type)
      }
    })

    it('restrict-a-service', async () => {
      const [policy] = pageOf('restrict-a-service').manifests as [Manifest]
      assert.equal(policy.metadata.namespace, 'shop')
      apply(policy)
      await plane.conditions(policyPath('read-only', 'shop'), { Attached: 'False Pending' })
      apply(
        {
          apiVersion: `${GROUP}/v1beta1`,
          kind: 'ReferenceGrant',
          metadata: { name: 'routes', namespace: 'shop' },
          spec: {
            from: [{ group: GROUP, kind: 'HTTPRoute', namespace: 'apps' }],
            to: [{ group: '', kind: 'Service' }],
          },
        },
        route('shop', '/shop', { name: 'orders', namespace: 'shop', port: 8080 }),
      )
      await programmed('read-only', 'shop')
      assert.equal(await ask('/shop'), 200)
      assert.equal(await ask('/shop', {}, 'POST'), 403)
    })

    it('allow-by-sni', async () => {
      const terminate = { mode: 'Terminate', certificateRefs: [{ name: 'cert' }] }
      const listeners = [{ name: 'tls', protocol: 'TLS', port: tls, tls: terminate }]
      apply(
        {
          apiVersion: `${GROUP}/v1`,
          kind: 'Gateway',
          metadata: { name: 'tls-gateway' },
          spec: { gatewayClassName: 'portcullis', listeners },
        },
        {
          apiVersion: `${GROUP}/v1`,
          kind: 'TLSRoute',
          metadata: { name: 'names' },
          spec: {
            parentRefs: [{ name: 'tls-gateway' }],
            hostnames: ['*.example.com'],
            rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
          },
        },
        ...pageOf('allow-by-sni').manifests,
      )
      await plane.giveAddress('tls-gateway')
      await plane.startProxy('tls-gateway')
      await programmed('allowed-names')
      const isAdmitted = (servername: string) =>
        new Promise<boolean>((resolve) => {
          const where = { host: '127.0.0.1', port: tls, servername, rejectUnauthorized: false }
          const socket = connect(where, () => resolve(true))
          socket.once('error', () => resolve(false))
          socket.once('close', () => resolve(false))
          socket.once('secureConnect', () => socket.destroy())
        })
      assert.equal(await isAdmitted('allowed.example.com'), true)
      assert.equal(await isAdmitted('other.example.com'), false)
      assert.equal(await isAdmitted(''), false)
    })
  })
}

/** Must run last: nothing works afterwards. */
export function describeUninstall(planeHere: () => Plane): void {
  it('upgrade-and-uninstall: the objects that the page deletes are gone, and policies stay until their definitions are deleted', () => {
    const { cluster } = planeHere()
    const page = readFileSync(join(ROOT, 'docs/tasks/upgrade-and-uninstall.md'), 'utf8')
    const [uninstall = ''] = [...page.matchAll(/^helm (uninstall portcullis --.*)$/gm)].map(
      ([, args = '']) => args,
    )
    const [deletion = ''] = [...page.matchAll(/^kubectl (delete gatewayclass .*)$/gm)].map(
      ([, args = '']) => args,
    )
    cluster.helm(uninstall.split(' '))
    cluster.kubectl(deletion.split(' '))
    const part = 'app.kubernetes.io/part-of=portcullis'
    const roles = cluster.kubectl([
      'get',
      'clusterrole,clusterrolebinding',
      '-l',
      part,
      '-o',
      'name',
    ])
    assert.equal(roles, '')
    assert.match(cluster.kubectl(['get', 'crd', '-o', 'name']), /proxypolicies\.portcullis\.dev/)
  })
}

function withPort(object: object, port: number): object {
  const { kind, spec } = object as { readonly kind: string; readonly spec?: object }
  if (kind !== 'Service') return object
  const { ports } = spec as { readonly ports: readonly object[] }
  return { ...object, spec: { ...spec, ports: ports.map((one) => ({ ...one, port })) } }
}
