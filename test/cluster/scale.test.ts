// Many objects on a real API server, one of them invalid, and namespaces that start and stop
// matching the selector while the controller runs.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { eventually, missing } from './harness.ts'
import { GATEWAY_API, ownAddress, type Plane, PORTCULLIS_API, startPlane } from './plane.ts'
import { SYSTEM } from './programs.ts'

const reason = missing() ?? (ownAddress === undefined ? 'only loopback is here' : undefined)
const options = reason === undefined ? {} : { skip: reason }
/** A nightly run uses `SCALE_GATEWAYS=500 SCALE_ROUTES=1000`. */
const GATEWAYS = Number(process.env['SCALE_GATEWAYS'] ?? 60)
const ROUTES = Number(process.env['SCALE_ROUTES'] ?? 150)
const SECONDS = 120 + GATEWAYS
const AT_ONCE = 16
const ACCOUNT = `system:serviceaccount:${SYSTEM}:portcullis`
const MERGE = 'application/merge-patch+json'
const SELECTORS = [{ matchLabels: { watched: 'yes' } }]

describe('many objects, and namespaces selected by labels', options, () => {
  let plane: Plane
  let http = 0

  before(async () => {
    plane = await startPlane({ ports: 16, audit: true })
    for (const name of ['hidden', 'crowd']) plane.cluster.createNamespace(name)
    for (const name of ['apps', 'crowd']) await label(name, 'yes')
    plane.controllerStart = {
      env: { PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS: JSON.stringify(SELECTORS) },
    }
    plane.controller = await plane.programs.startController(plane.controllerStart)
    http = plane.take()
    const behind = await plane.serve((_, response) => response.end('served'))
    plane.apply(
      gateway('edge', 'apps', http, { namespaces: { from: 'All' } }),
      ...plane.serviceOf('app', behind),
      ...plane.serviceOf('app', behind, 'hidden'),
      route('hidden', 'route', '/hidden'),
    )
    await plane.giveAddress('edge')
    await plane.startProxy('edge')
  })
  after(async () => {
    await plane?.close()
  })

  const ask = (path: string, who = ''): Promise<number> =>
    new Promise((resolve) => {
      const headers = { host: 'app.example.com', 'x-who': who }
      const sent = request(
        { host: '127.0.0.1', port: http, path, headers, agent: false },
        (got) => {
          got.resume()
          got.once('end', () => resolve(got.statusCode ?? 0))
        },
      )
      sent.on('error', () => resolve(0))
      sent.end()
    })
  const becomes = (path: string, status: number) =>
    eventually(async () => (await ask(path)) === status || undefined, `${path}: ${status}`)

  const label = async (namespace: string, watched: string | null) => {
    const path = `/api/v1/namespaces/${namespace}`
    const { status } = await plane.cluster.ask(
      'PATCH',
      path,
      { metadata: { labels: { watched } } },
      MERGE,
    )
    assert.equal(status, 200)
  }

  async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
    const numbers = Array.from({ length: count }, (_, n) => n)
    const worker = async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) await work(n)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  const write = async (method: string, path: string, body?: object) => {
    const { status, body: said } = await plane.cluster.ask(method, path, body)
    assert.ok(status < 300, `${method} ${path}: ${status} ${said.message}`)
  }

  const items = async <T>(path: string): Promise<readonly T[]> => {
    const { body } = await plane.cluster.ask('GET', path)
    return (body as unknown as { readonly items: readonly T[] }).items
  }

  /** The controller's writes, by kind, except leases. */
  const writes = (): readonly string[] =>
    plane.cluster
      .audited(ACCOUNT)
      .filter(({ verb, objectRef }) => WRITING.has(verb) && objectRef?.resource !== 'leases')
      .map(({ verb, objectRef }) =>
        [verb, objectRef?.resource, objectRef?.subresource, objectRef?.name].join(' '),
      )

  const attached = async (): Promise<number | undefined> => {
    const { body } = await plane.cluster.ask('GET', `${GATEWAY_API}/namespaces/apps/gateways/edge`)
    const { listeners = [] } = (body['status'] ?? {}) as {
      readonly listeners?: readonly { readonly attachedRoutes: number }[]
    }
    return listeners[0]?.attachedRoutes
  }

  it('an unselected namespace is ignored; its labels add and remove it', async () => {
    assert.equal(await ask('/hidden'), 404)
    assert.equal(await attached(), 0)
    const { body } = await plane.cluster.ask(
      'GET',
      `${GATEWAY_API}/namespaces/hidden/httproutes/route`,
    )
    // API servers add an empty list to the status of routes.
    const { parents = [] } = (body['status'] ?? {}) as { readonly parents?: readonly unknown[] }
    assert.deepEqual(parents, [])
    await label('hidden', 'yes')
    await becomes('/hidden', 200)
    await eventually(async () => (await attached()) === 1 || undefined, 'an attached route')
    await label('hidden', null)
    await becomes('/hidden', 404)
    await eventually(async () => (await attached()) === 0 || undefined, 'no attached route')
    await label('hidden', 'no')
    await label('hidden', 'yes')
    await becomes('/hidden', 200)
    await label('hidden', null)
    await becomes('/hidden', 404)
  })

  it(`one broken policy among ${ROUTES} holds up none of the others`, async () => {
    const broken = Math.floor(ROUTES / 2)
    const policies = `${PORTCULLIS_API}/namespaces/apps/proxypolicies`
    await inParallel(ROUTES, async (n) => {
      const path = `${GATEWAY_API}/namespaces/apps/httproutes`
      await write('POST', path, route('apps', `many-${n}`, `/many-${n}/`))
      await write('POST', policies, policy(n, n === broken ? `request.headers[` : rule(n)))
    })
    const state = async () => {
      const found = await items<Policy>(policies)
      return new Map(found.map((one) => [one.metadata.name, conditionsOf(one)]))
    }
    let last: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map()
    await eventually(
      async () => {
        last = await state()
        const count = [...last.values()].filter((one) => one['Programmed'] === 'True').length
        return count >= ROUTES - 1 || undefined
      },
      'all policies but one',
      SECONDS,
    )
    const found = last.get(`many-${broken}`)
    assert.equal(found?.['Accepted'], 'False', JSON.stringify(found))
    for (const n of [0, 1, broken - 1, broken + 1, ROUTES - 1]) {
      assert.equal(await ask(`/many-${n}/`, `w${n}`), 200)
      assert.equal(await ask(`/many-${n}/`, 'other'), 403)
    }
    // The route with the invalid policy denies all requests.
    assert.ok((await ask(`/many-${broken}/`, `w${broken}`)) >= 400)
    const { status } = await plane.cluster.ask(
      'PATCH',
      `${policies}/many-${broken}`,
      { spec: policy(broken, rule(broken)).spec },
      MERGE,
    )
    assert.equal(status, 200)
    const isRepaired = async () =>
      (await ask(`/many-${broken}/`, `w${broken}`)) === 200 || undefined
    await eventually(isRepaired, 'the repaired policy')
  })

  it(`${GATEWAYS} Gateways come and go, each is written a few times, and nothing is left`, async () => {
    const path = `${GATEWAY_API}/namespaces/crowd/gateways`
    const before = writes().length
    await inParallel(GATEWAYS, (n) => write('POST', path, gateway(`g${n}`, 'crowd', 8_080)))
    const isDeployed = async () => {
      const all = await items(`/apis/apps/v1/namespaces/crowd/deployments`)
      return all.length === GATEWAYS || undefined
    }
    await eventually(isDeployed, 'a Deployment of each', SECONDS)
    const isAccepted = async () => {
      const all = await items<Gateway>(path)
      const done = all.filter(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === 'Accepted' && is === 'True'),
      )
      return done.length === GATEWAYS || undefined
    }
    await eventually(isAccepted, 'accepted Gateways', SECONDS)
    await settled()
    const made = writes().length - before
    // Seven objects and a status or two; a Service that the API server completes counts twice.
    assert.ok(made <= GATEWAYS * 14, `${made} writes for ${GATEWAYS} Gateways`)
    await inParallel(GATEWAYS, (n) => write('DELETE', `${path}/g${n}`))
    await settled()
    const gone = writes().length - before - made
    assert.ok(gone <= GATEWAYS, `${gone} writes after ${GATEWAYS} were deleted`)
    const held = (await plane.programs.metrics())
      .split('\n')
      .filter((line) => line.startsWith('portcullis_controller_objects{kind="Gateway"}'))
    assert.deepEqual(held, ['portcullis_controller_objects{kind="Gateway"} 1'])
    assert.equal(await ask('/many-0/', 'w0'), 200)
    // At rest nothing is written.
    const rest = writes().length
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    assert.deepEqual(writes().slice(rest), [])
  })

  /** Waits until nothing was written for two seconds. */
  async function settled(): Promise<void> {
    let last = -1
    let since = Date.now()
    await eventually(
      async () => {
        const now = writes().length
        if (now !== last) [last, since] = [now, Date.now()]
        return Date.now() - since > 2_000 || undefined
      },
      'rest',
      SECONDS,
    )
  }
})

const WRITING = new Set(['create', 'update', 'patch', 'delete'])

interface Conditioned {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
}
interface Gateway {
  readonly status?: Conditioned
}
interface Policy {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly ancestors?: readonly Conditioned[] }
}

function conditionsOf({ status }: Policy): Readonly<Record<string, string>> {
  const all = status?.ancestors?.[0]?.conditions ?? []
  return Object.fromEntries(all.map(({ type, status: is }) => [type, is]))
}

function gateway(name: string, namespace: string, port: number, allowedRoutes?: object) {
  const listener = { name: 'http', protocol: 'HTTP', port }
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace },
    spec: {
      gatewayClassName: 'portcullis',
      listeners: [allowedRoutes === undefined ? listener : { ...listener, allowedRoutes }],
    },
  }
}

function route(namespace: string, name: string, path: string) {
  const matches = [{ path: { type: 'PathPrefix', value: path } }]
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace },
    spec: {
      parentRefs: [{ name: 'edge', namespace: 'apps' }],
      rules: [{ matches, backendRefs: [{ name: 'app', port: 8080 }] }],
    },
  }
}

const rule = (n: number) => `request.headers['x-who'] == 'w${n}'`

function policy(n: number, expression: string) {
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: `many-${n}`, namespace: 'apps' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `many-${n}` }],
      traffic: {
        authorization: { action: 'Allow', policy: { matchExpressions: [expression] } },
      },
    },
  }
}
