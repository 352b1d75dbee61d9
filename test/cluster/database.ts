import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chartFolder } from '../charts/helm.ts'
import { SKIPPED, startServer, type TestServer } from '../storage/postgres.ts'
import {
  HOST,
  ISSUER,
  ISSUER_SCRIPT,
  openPort,
  type Peer,
  startServices,
} from './database-peers.ts'
import { type Cluster, eventually } from './harness.ts'
import { type Pod, type PodList, podName } from './pods.ts'

const NAMESPACE = 'stored'
const CHART = chartFolder('portcullis-standalone')
const TOKEN = randomBytes(24).toString('hex')
const hex = () => randomBytes(32).toString('hex')

type Headers = Readonly<Record<string, string>>

interface Written {
  readonly routes?: readonly object[]
  /** More settings of the nested `config`. */
  readonly settings?: object
}

/** The standalone chart with a PostgreSQL, on an existing cluster; one release, step by step. */
export function describeDatabase(clusterHere: () => Cluster): void {
  describe('database mode', { skip: SKIPPED }, () => {
    let cluster: Cluster
    let server: TestServer | undefined
    let database: Peer | undefined
    let services: Peer | undefined
    let password = ''
    /** The two serving pods. */
    let pods: readonly Pod[] = []

    before(async () => {
      cluster = clusterHere()
      server = await startServer()
      await server.query('create database stored')
      database = await openPort(join(server.folder, 'run/.s.PGSQL.5432'))
      services = await startServices()
      password = new URL(server.url.replace(/@[^/]*\//, '@host/')).password
      cluster.createNamespace(NAMESPACE)
      for (const [name, entry] of [
        ['postgres', `password=${password}`],
        ['storage', `key=${hex()}`],
        ['sessions', `key=${hex()}`],
        ['cookies', `OIDC_COOKIE_SECRET=${hex()}`],
        ['admin', `token=${TOKEN}`],
      ] as const) {
        const literal = `--from-literal=${entry}`
        cluster.kubectl(['-n', NAMESPACE, 'create', 'secret', 'generic', name, literal])
      }
    })

    after(async () => {
      cluster?.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found'])
      database?.close()
      services?.close()
      await server?.remove()
    })

    const secretEnv = (name: string, secret: string, key: string) => ({
      name,
      valueFrom: { secretKeyRef: { name: secret, key } },
    })

    const orders = (body: string) => ({
      name: 'orders',
      matches: [{ path: { exact: '/orders' } }],
      policies: { directResponse: { status: 200, body } },
    })

    const valuesOf = ({ routes = [orders('baseline')], settings = {} }: Written) => ({
      mode: 'database',
      replicaCount: 2,
      database: {
        postgres: {
          url: `postgres://portcullis:\${PGPASSWORD}@${HOST}:${database?.port}/stored`,
        },
      },
      extraEnv: [
        secretEnv('PGPASSWORD', 'postgres', 'password'),
        secretEnv('PORTCULLIS_STORAGE_KEY', 'storage', 'key'),
        secretEnv('PORTCULLIS_ADMIN_TOKEN', 'admin', 'token'),
      ],
      session: { secretName: 'sessions' },
      oidc: { enabled: true, cookieSecretName: 'cookies' },
      gateway: { service: { type: 'ClusterIP' } },
      extraContainers: [
        {
          name: 'issuer',
          image: image(),
          command: ['node', '--input-type=module', '--eval', ISSUER_SCRIPT],
        },
      ],
      config: {
        config: {
          workers: 1,
          adminAddr: '[::]:15000',
          adminAllowRemote: true,
          adminAuth: {
            oidc: {
              issuer: ISSUER,
              clientId: 'portcullis',
              redirectUri: 'http://localhost:15000/api/auth/callback',
            },
            roles: { viewer: "jwt.sub == 'alice'" },
          },
          ...settings,
        },
        gateways: { default: { port: 4000 } },
        backends: [
          {
            name: 'models',
            ai: {
              name: 'p',
              provider: { openAI: {} },
              hostOverride: `http://${HOST}:${services?.port}`,
            },
          },
          {
            name: 'tools',
            mcp: { targets: [{ name: 't', mcp: { host: `http://${HOST}:${services?.port}` } }] },
          },
        ],
        routes: [
          ...routes,
          {
            name: 'models',
            matches: [{ path: { pathPrefix: '/v1' } }],
            backends: [{ backend: 'models' }],
          },
          {
            name: 'tools',
            matches: [{ path: { pathPrefix: '/mcp' } }],
            backends: [{ backend: 'tools' }],
          },
        ],
      },
    })

    /** The image of the release, which contains Node. */
    const image = () => {
      const [, name = ''] = /image: "?([^"\s]+)"?/.exec(cluster.helm(['template', CHART])) ?? []
      return name
    }

    const helm = async (command: string, written: Written) => {
      const place = ['--namespace', NAMESPACE, '--wait', '--timeout', '180s']
      await cluster.helmBeside([command, 'stored', CHART, ...place], valuesOf(written))
      const [isReady, seen] = [
        ({ status }: Pod) => status.containerStatuses?.every((one) => one.ready),
        ['-n', NAMESPACE],
      ]
      pods = await eventually(
        async () => {
          const list = cluster.kubectl([...seen, 'get', 'pods', '-l', PROXIES, '-o', 'json'])
          const all = (JSON.parse(list) as PodList).items
          const living = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
          return living.length === 2 && living.every(isReady) ? living : undefined
        },
        'two ready pods',
        120,
      )
    }
    const PROXIES = 'app.kubernetes.io/component=proxy'

    const send = async (
      pod: Pod | undefined,
      path: string,
      { port = 4000, ...init }: RequestInit & { readonly port?: number } = {},
    ) => {
      const signal = AbortSignal.timeout(10_000)
      const url = `http://${pod?.status.podIP}:${port}${path}`
      const response = await fetch(url, { redirect: 'manual', signal, ...init })
      const text = await response.text()
      return { status: response.status, headers: response.headers, text }
    }
    const api = (
      pod: Pod | undefined,
      method: string,
      path: string,
      body?: object,
      more: Headers = {},
    ) =>
      send(pod, `/api${path}`, {
        port: 15_000,
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...more },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    /** Waits until every pod responds as expected. */
    const everywhere = (
      what: string,
      path: string,
      isSo: (text: string, status: number) => boolean,
    ) =>
      eventually(
        async () => {
          const all = await Promise.all(pods.map((pod) => send(pod, path)))
          return all.every(({ text, status }) => isSo(text, status)) || undefined
        },
        what,
        120,
      )
    const identities = () =>
      pods
        .map((pod) => [
          podName(pod),
          ...(pod.status.containerStatuses ?? []).map((one) => one.restartCount),
        ])
        .toSorted()

    it('two replicas serve the baseline; the password is not in the ConfigMap', async () => {
      await helm('install', {})
      await everywhere('the baseline', '/orders', (text) => text === 'baseline')
      const maps = cluster.kubectl(['-n', NAMESPACE, 'get', 'configmaps', '-o', 'json'])
      assert.ok(maps.includes('PGPASSWORD'))
      assert.ok(!maps.includes(password))
    })

    it('an edit through the API of one replica reaches both', async () => {
      const [first] = pods
      const path = '/config/resources/routes/orders'
      const { headers, text } = await api(first, 'GET', path)
      const { value } = JSON.parse(text) as { readonly value: object }
      const match = { 'if-match': headers.get('etag') ?? '' }
      const edited = {
        ...value,
        matches: [{ path: { exact: '/orders' } }, { path: { exact: '/all' } }],
      }
      const stored = await api(first, 'PUT', path, edited, match)
      assert.equal(stored.status, 200, stored.text)
      const added = { ...orders('stored'), name: 'added', matches: [{ path: { exact: '/added' } }] }
      assert.equal((await api(first, 'PUT', '/config/resources/routes/added', added)).status, 200)
      await everywhere('the edited route', '/all', (own) => own === 'baseline')
      await everywhere('the added route', '/added', (own) => own === 'stored')
    })

    it('helm upgrade of the baseline merges with it, and restarts no pod', async () => {
      const before = identities()
      const fresh = { ...orders('fresh'), name: 'fresh', matches: [{ path: { exact: '/fresh' } }] }
      await helm('upgrade', { routes: [orders('newer'), fresh] })
      await everywhere('a route of the new baseline', '/fresh', (text) => text === 'fresh')
      // The edit changed `matches`; the response is that of the new baseline.
      await everywhere('the edited route', '/all', (text) => text === 'newer')
      await everywhere('the added route', '/added', (text) => text === 'stored')
      assert.deepEqual(identities(), before)
    })

    it('session.secretName: a session that one replica made is valid on the other', async () => {
      const [first, second] = pods
      const call = (pod: Pod | undefined, method: string, session?: string) =>
        send(pod, '/mcp', {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-06-18',
            ...(session === undefined ? {} : { 'mcp-session-id': session }),
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method,
            params:
              method === 'initialize'
                ? {
                    protocolVersion: '2025-06-18',
                    capabilities: {},
                    clientInfo: { name: 'c', version: '1' },
                  }
                : {},
          }),
        })
      const begun = await call(first, 'initialize')
      assert.equal(begun.status, 200, begun.text)
      const session = begun.headers.get('mcp-session-id') ?? ''
      assert.notEqual(session, '')
      const listed = await call(second, 'tools/list', session)
      assert.equal(listed.status, 200, listed.text)
      assert.match(listed.text, /"echo"/)
      const changed = `${session.slice(0, -4)}${session.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`
      assert.equal((await call(second, 'tools/list', changed)).status, 404)
    })

    it('oidc: a sign-in that begins at one replica ends at the other, and is valid on both', async () => {
      const [first, second] = pods
      const admin = (pod: Pod | undefined, path: string, cookies: string) =>
        send(pod, path, { port: 15_000, headers: { cookie: cookies } })
      assert.equal((await admin(first, '/api/session', '')).status, 401)
      const begun = await admin(first, '/api/auth/login?returnTo=/api/session', '')
      const asked = new URL(begun.headers.get('location') ?? '')
      assert.equal(asked.origin, ISSUER, begun.text)
      const [state, nonce] = [asked.searchParams.get('state'), asked.searchParams.get('nonce')]
      const back = `/api/auth/callback?state=${state}&code=${nonce}`
      const done = await admin(second, back, cookiesOf(begun.headers))
      assert.equal(done.status, 303, done.text)
      const session = cookiesOf(done.headers)
      for (const pod of pods) {
        const known = await admin(pod, '/api/session', session)
        assert.equal(known.status, 200, known.text)
        assert.equal((JSON.parse(known.text) as { name: string }).name, 'alice')
      }
      const ended = await send(first, '/api/auth/logout', {
        port: 15_000,
        method: 'POST',
        headers: { cookie: session },
      })
      assert.equal(ended.status, 303, ended.text)
      assert.equal((await admin(second, '/api/session', session)).status, 401)
    })

    const catalog = (input: string) => ({
      modelCatalog: [
        {
          inline: {
            providers: { openai: { models: { small: { rates: { input, output: '0' } } } } },
          },
        },
      ],
    })
    const spent = async (pod: Pod) => {
      const body = JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'hi' }] })
      const headers = { 'content-type': 'application/json' }
      const called = await send(pod, '/v1/chat/completions', { method: 'POST', headers, body })
      assert.equal(called.status, 200, called.text)
      const { text } = await send(pod, '/metrics', { port: 15_020 })
      const line = /^portcullis_llm_cost_usd_total\{[^}]*\} (\S+)$/m.exec(text)
      return Number(line?.[1] ?? 0)
    }

    it('config.modelCatalog takes effect in running pods', async () => {
      const before = identities()
      assert.deepEqual(await Promise.all(pods.map(spent)), [0, 0])
      await helm('upgrade', { settings: catalog('1000') })
      for (const pod of pods) {
        await eventually(async () => ((await spent(pod)) > 0 ? true : undefined), 'a price', 120)
      }
      assert.deepEqual(identities(), before)
    })

    it('any other change of the nested config restarts pods, and the stored edits are served', async () => {
      const before = pods.map(podName)
      await helm('upgrade', { settings: { ...catalog('1000'), logging: { level: 'debug' } } })
      assert.deepEqual(pods.filter((pod) => before.includes(podName(pod))).map(podName), [])
      await everywhere('the edited route', '/all', (text) => text === 'baseline')
      await everywhere('the added route', '/added', (text) => text === 'stored')
    })
  })
}

function cookiesOf(headers: globalThis.Headers): string {
  const set = headers.getSetCookie().map((one) => one.split(';', 1)[0] ?? '')
  return set.filter((one) => !one.endsWith('=')).join('; ')
}
