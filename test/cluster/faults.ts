// Failures around a control plane while it serves: of replicas, the API server and a rollout. No
// request that is sent meanwhile may fail.

import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { before, describe, it } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import type { Forwarder } from './forwarder.ts'
import { eventually } from './harness.ts'
import { GATEWAY_API, type Plane, PORTCULLIS_API } from './plane.ts'
import { type Running, SYSTEM } from './programs.ts'
import { certificate } from './specification-objects.ts'

/** A nightly run uses a minute: `AWAY_SECONDS=60`. */
const AWAY_SECONDS = Number(process.env['AWAY_SECONDS'] ?? 8)
const GATEWAYS = `${GATEWAY_API}/namespaces/apps`
const POLICIES = `${PORTCULLIS_API}/namespaces/apps/proxypolicies`
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM}/leases/portcullis-controller-portcullis-dev-controller`
const MERGE = 'application/merge-patch+json'
const ROUTES = 30

export function describeFaults(
  here: () => { readonly plane: Plane; readonly apiServer: Forwarder },
): void {
  describe('two replicas during failures', () => {
    let plane: Plane
    let [http, https] = [0, 0]
    const replicas = new Map<string, Running>()
    let secondPort = 0

    before(async () => {
      plane = here().plane
      const first = plane.take(2)
      ;[http, https] = [first, first + 1]
      const behind = await plane.serve((_, response) => response.end('served'))
      const terminate = { mode: 'Terminate', certificateRefs: [{ name: 'rotated' }] }
      plane.apply(
        named(certificate(), 'rotated'),
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          metadata: { name: 'steady', namespace: 'apps' },
          spec: {
            gatewayClassName: 'portcullis',
            listeners: [
              { name: 'http', protocol: 'HTTP', port: http },
              { name: 'https', protocol: 'HTTPS', port: https, tls: terminate },
            ],
          },
        },
        ...plane.serviceOf('steady-app', behind),
        route('steady', '/steady'),
      )
      await plane.giveAddress('steady')
      await plane.startProxy('steady')
      secondPort = plane.take(3)
      replicas.set('controller', plane.controller as Running)
      replicas.set('second', await startReplica('second'))
      // Another proxy of the same Gateway, which another replica serves.
      await plane.startProxy('steady', plane.take(3), secondPort)
      await eventually(async () => ((await ask('/steady')) === 200 ? true : undefined), 'the route')
    })

    const startReplica = (name: string) => {
      const port = name === 'second' ? { port: secondPort } : {}
      return plane.programs.startController({ ...plane.controllerStart, ...port, name })
    }

    const ask = (path: string, headers: Readonly<Record<string, string>> = {}, agent?: Agent) =>
      new Promise<number>((resolve) => {
        const where = { host: '127.0.0.1', port: http, path, agent: agent ?? false }
        const sent = request(
          { ...where, headers: { host: 'app.example.com', ...headers } },
          (got) => {
            got.resume()
            got.once('end', () => resolve(got.statusCode ?? 0))
          },
        )
        sent.on('error', () => resolve(0))
        sent.end()
      })

    /**
     * Sends requests on persistent and new connections until it is stopped; returns their statuses.
     */
    function probe(): () => Promise<ReadonlyMap<number, number>> {
      const counts = new Map<number, number>()
      const agent = new Agent({ keepAlive: true, maxSockets: 2 })
      let isRunning = true
      const run = async (own?: Agent) => {
        while (isRunning) {
          const status = await ask('/steady', {}, own)
          counts.set(status, (counts.get(status) ?? 0) + 1)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      const ended = Promise.all([run(), run(agent)])
      return async () => {
        isRunning = false
        await ended
        agent.destroy()
        return counts
      }
    }

    async function served(during: () => Promise<unknown>, least: number): Promise<void> {
      const stop = probe()
      let counts: ReadonlyMap<number, number> = new Map()
      try {
        await during()
      } finally {
        counts = await stop()
      }
      assert.deepEqual([...counts.keys()], [200], JSON.stringify([...counts]))
      assert.ok((counts.get(200) ?? 0) >= least, `${counts.get(200)} requests`)
    }

    const write = async (method: string, path: string, body?: object) => {
      const { status } = await plane.cluster.ask(
        method,
        path,
        body,
        method === 'PATCH' ? MERGE : undefined,
      )
      assert.ok(status < 300, `${method} ${path}: ${status}`)
    }

    const numbers = Array.from({ length: ROUTES }, (_, n) => n)
    const isProgrammed = async (name: string, generation: number): Promise<boolean> => {
      const { body } = await plane.cluster.ask('GET', `${POLICIES}/${name}`)
      const { ancestors = [] } = (body['status'] ?? {}) as {
        readonly ancestors?: readonly {
          readonly conditions: readonly {
            readonly type: string
            readonly status: string
            readonly observedGeneration: number
            readonly message: string
          }[]
        }[]
      }
      const found = ancestors[0]?.conditions.find(({ type }) => type === 'Programmed')
      return (
        found?.status === 'True' &&
        found.observedGeneration === generation &&
        found.message === `all ready proxies run generation ${generation}`
      )
    }
    const programmed = (names: readonly string[], generation: number, seconds = 120) =>
      eventually(
        async () => {
          for (const name of names) if (!(await isProgrammed(name, generation))) return undefined
          return true
        },
        `${names.length} policies at generation ${generation}`,
        seconds,
      )

    async function bothConnected(): Promise<void> {
      let last = ''
      await eventually(
        async () => {
          const found = await plane.conditions(`${GATEWAYS}/gateways/steady`, {
            Programmed: 'True Programmed',
          })
          last = found['Programmed']?.message ?? ''
          return last === '2 of 2 ready proxies run generation 1' || undefined
        },
        'two proxies',
        120,
      ).catch((error) => assert.fail(`${error.message}: ${last}`))
    }

    it('the status counts the proxies of all replicas', async () => {
      await bothConnected()
    })

    it('routes and policies are created, changed and deleted without a failed request', async () => {
      await served(async () => {
        for (const n of numbers) {
          await write('POST', `${GATEWAYS}/httproutes`, route(`churn-${n}`, `/churn-${n}`))
          await write('POST', POLICIES, policy(n, 'a'))
        }
        const names = numbers.map((n) => `churn-${n}`)
        await programmed(names, 1)
        for (const n of numbers) {
          await write('PATCH', `${POLICIES}/churn-${n}`, { spec: policy(n, 'b').spec })
        }
        await programmed(names, 2)
        for (const n of numbers.filter((one) => one % 3 === 0)) {
          await write('DELETE', `${GATEWAYS}/httproutes/churn-${n}`)
          await write('DELETE', `${POLICIES}/churn-${n}`)
        }
        assert.equal(await ask('/churn-1', { 'x-who': 'b' }), 200)
        assert.equal(await ask('/churn-1', { 'x-who': 'a' }), 403)
      }, 100)
    })

    it('a rotated certificate is presented on new connections, and old connections stay open', async () => {
      const before = await dial(https)
      const first = before.getPeerCertificate().fingerprint256
      assert.match(await exchange(before), /^HTTP\/1.1 200/)
      plane.apply(named(certificate(), 'rotated'))
      await eventually(async () => {
        const socket = await dial(https)
        const { fingerprint256 } = socket.getPeerCertificate()
        socket.destroy()
        return fingerprint256 !== first || undefined
      }, 'the new certificate')
      // Both proxies share the port, so several connections in a row must see it.
      await eventually(async () => {
        for (let count = 0; count < 10; count++) {
          const socket = await dial(https)
          const { fingerprint256 } = socket.getPeerCertificate()
          socket.destroy()
          if (fingerprint256 === first) return undefined
        }
        return true
      }, 'the new certificate everywhere')
      assert.match(await exchange(before), /^HTTP\/1.1 200/)
      before.destroy()
    })

    it(`the API server is away for ${AWAY_SECONDS} s: proxies go on, and status converges`, async () => {
      await served(async () => {
        const { apiServer } = here()
        await apiServer.cut()
        await write('PATCH', `${POLICIES}/churn-1`, { spec: policy(1, 'c').spec })
        await new Promise((resolve) => setTimeout(resolve, AWAY_SECONDS * 1000))
        assert.equal(await ask('/churn-1', { 'x-who': 'b' }), 200)
        assert.equal(await ask('/churn-1', { 'x-who': 'c' }), 403)
        await apiServer.open()
        await programmed(['churn-1'], 3)
        assert.equal(await ask('/churn-1', { 'x-who': 'c' }), 200)
        for (const { child } of replicas.values()) assert.equal(child.exitCode, null)
      }, 100)
    })

    it('an API server that restarts without its event history: nothing is lost', async (context) => {
      const expired = async (kind: string) => {
        const name = `portcullis_controller_watch_restarts_total{kind="${kind}",reason="expired"}`
        const line = (await plane.programs.metrics())
          .split('\n')
          .find((one) => one.startsWith(name))
        return Number(line?.split(' ')[1] ?? 0)
      }
      const kinds = ['HTTPRoute', 'ProxyPolicy']
      const before = await Promise.all(kinds.map(expired))
      await served(async () => {
        const { apiServer } = here()
        await apiServer.cut()
        await write('PATCH', `${POLICIES}/churn-4`, { spec: policy(4, 'e').spec })
        await write('DELETE', `${GATEWAYS}/httproutes/churn-7`)
        await write('DELETE', `${POLICIES}/churn-7`)
        await write('POST', `${GATEWAYS}/httproutes`, route('churn-late', '/churn-late'))
        await plane.cluster.restartApiServer()
        await apiServer.open()
        await programmed(['churn-4'], 3)
        const becomes = (path: string, status: number) =>
          eventually(async () => (await ask(path)) === status || undefined, `${path}: ${status}`)
        await becomes('/churn-7', 404)
        await becomes('/churn-late', 200)
        assert.equal(await ask('/churn-4', { 'x-who': 'e' }), 200)
        assert.equal(await ask('/churn-4', { 'x-who': 'b' }), 403)
        for (const { child } of replicas.values()) assert.equal(child.exitCode, null)
      }, 100)
      // Usually the watches are too old (410); the API server decides which of them are.
      const after = await Promise.all(kinds.map(expired))
      for (const [index, kind] of kinds.entries()) {
        const count = (after[index] ?? 0) - (before[index] ?? 0)
        context.diagnostic(`${kind}: ${count} watches were too old`)
      }
    })

    it('a leader that is killed during a rollout is replaced, and the rollout completes', async () => {
      const names = numbers.filter((n) => n % 3 === 2).map((n) => `churn-${n}`)
      const holder = async () => {
        const { body } = await plane.cluster.ask('GET', LEASE)
        return (body['spec'] as { readonly holderIdentity?: string }).holderIdentity ?? ''
      }
      const isHeld = async () => (replicas.has(await holder()) ? true : undefined)
      await eventually(isHeld, 'a leader')
      const leader = await holder()
      await served(async () => {
        const edits = names.map((name) => {
          const n = Number(name.slice('churn-'.length))
          return write('PATCH', `${POLICIES}/${name}`, { spec: policy(n, 'd').spec })
        })
        await Promise.race(edits)
        await plane.programs.stop(replicas.get(leader) as Running, 'SIGKILL')
        await Promise.all(edits)
        // Its lease has to expire first.
        await eventually(
          async () => {
            const now = await holder()
            return (replicas.has(now) && now !== leader) || undefined
          },
          'another leader',
          120,
        )
        // The proxy that it served knows no other address in this test, and waits for it.
        for (const name of names) {
          await eventually(
            async () => {
              const { Programmed } = await plane.conditions(`${POLICIES}/${name}`, {
                Programmed: 'False Pending',
              })
              const said = /^1 of 2 ready proxies run generation 3; 1 is not connected since /
              return said.test(Programmed?.message ?? '') || undefined
            },
            `${name} at one of two proxies`,
            120,
          )
        }
        replicas.set(leader, await startReplica(leader))
        if (leader === 'controller') plane.controller = replicas.get(leader)
        await bothConnected()
        await programmed(names, 3)
        for (const name of names) {
          for (let count = 0; count < 6; count++) {
            assert.equal(await ask(`/${name}`, { 'x-who': 'd' }), 200)
          }
        }
      }, 100)
    })
  })

  /** One request on a persistent connection. */
  function exchange(socket: TLSSocket): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = ''
      const read = (bytes: Buffer) => {
        text += bytes
        if (!text.endsWith('served')) return
        socket.off('data', read)
        resolve(text)
      }
      socket.on('data', read)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('the connection was closed')))
      socket.write('GET /steady HTTP/1.1\r\nhost: app.example.com\r\n\r\n')
    })
  }

  function dial(port: number): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const servername = 'app.example.com'
      const where = { host: '127.0.0.1', port, servername, rejectUnauthorized: false }
      const socket = connect(where, () => resolve(socket))
      socket.once('error', reject)
    })
  }
}

function named(object: object, name: string): object {
  return { ...object, metadata: { name, namespace: 'apps' } }
}

function route(name: string, path: string) {
  const matches = [{ path: { type: 'PathPrefix', value: path } }]
  const rules = [{ matches, backendRefs: [{ name: 'steady-app', port: 8080 }] }]
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: 'apps' },
    spec: { parentRefs: [{ name: 'steady' }], rules },
  }
}

function policy(n: number, value: string) {
  const name = `churn-${n}`
  const rules = { matchExpressions: [`request.headers['x-who'] == '${value}'`] }
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name, namespace: 'apps' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
      traffic: { authorization: { action: 'Allow', policy: rules } },
    },
  }
}
