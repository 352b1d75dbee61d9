import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chartFolder } from '../charts/helm.ts'
import { describeControlPlane } from './control-plane.ts'
import { describeDatabase } from './database.ts'
import { type Cluster, eventually, missing, startCluster } from './harness.ts'
import { startLoad } from './load.ts'
import type { Pod, PodList } from './pods.ts'
import { PROVIDER, tokenOf } from './tokens.ts'
import { describeUpgrades } from './upgrades.ts'

const reason = missing({ node: true })
const options = reason === undefined ? {} : { skip: reason }
const ROOT = join(import.meta.dirname, '../..')
const NAMESPACE = 'portcullis-system'
const CHART = chartFolder('portcullis-standalone')
const PROXIES = 'app.kubernetes.io/component=proxy,app.kubernetes.io/instance=edge'

/** The order matters: these are the steps of one release, from its installation to its removal. */
describe('a release on a real node', options, () => {
  let cluster: Cluster
  let address = ''

  before(async () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'tools/release.ts')], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    const dist = join(ROOT, 'dist')
    const images = readdirSync(dist).filter((name) => name.endsWith('-linux-amd64.tar'))
    cluster = await startCluster({ node: true, images: images.map((name) => join(dist, name)) })
    cluster.createNamespace(NAMESPACE)
  })
  after(() => cluster?.close())

  /** Asynchronous, so that the load of this process continues. */
  const helm = (command: string, values: object) => {
    const args = [command, 'edge', CHART, '--namespace', NAMESPACE, '--wait', '--timeout', '120s']
    return cluster.helmBeside(args, values)
  }

  const kubectl = (...args: readonly string[]) =>
    cluster.kubectl(['--namespace', NAMESPACE, ...args])

  const pods = () => {
    const { items } = JSON.parse(kubectl('get', 'pods', '-l', PROXIES, '-o', 'json')) as PodList
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  }

  const ask = async (
    headers: Readonly<Record<string, string>> = {},
    method = 'GET',
    path = '/',
  ) => {
    const response = await fetch(`http://${address}${path}`, {
      headers,
      method,
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, text: await response.text() }
  }

  /** The output of a script that runs in a pod of the release. */
  const inside = (script: string) => {
    const args = ['exec', 'deployment/edge', '--', 'node', '--input-type=module', '--eval', script]
    return JSON.parse(kubectl(...args))
  }

  it('helm install: the default configuration responds at the address of the load balancer', async () => {
    await helm('install', {})
    address = await cluster.balancerAddress(NAMESPACE, 'edge')
    const { status, text } = await ask()
    assert.equal(status, 200)
    assert.match(text, /^Portcullis is running\./)
  })

  it('helm test succeeds', () => {
    assert.match(cluster.helm(['test', 'edge', '--namespace', NAMESPACE]), /Phase: +Succeeded/)
  })

  it('the process has no privileges', () => {
    const script = `
      import { existsSync, readFileSync, writeFileSync } from 'node:fs'
      const status = Object.fromEntries(readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(':\\t')))
      const tryTo = (path) => { try { writeFileSync(path, ''); return 'written' } catch (error) { return error.code } }
      console.log(JSON.stringify({
        uid: process.getuid(),
        capabilities: status.CapEff,
        bounding: status.CapBnd,
        noNewPrivileges: status.NoNewPrivs,
        seccomp: status.Seccomp,
        root: tryTo('/x'),
        config: tryTo('/config/x'),
        tmp: tryTo('/tmp/x'),
        token: existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token'),
      }))`
    assert.deepEqual(inside(script), {
      uid: 65_532,
      capabilities: '0000000000000000',
      bounding: '0000000000000000',
      noNewPrivileges: '1',
      seccomp: '2',
      root: 'EROFS',
      config: 'EROFS',
      tmp: 'written',
      token: false,
    })
  })

  it('metrics are served according to the annotations', async () => {
    const [pod] = pods()
    const port = pod?.metadata.annotations['prometheus.io/port']
    const response = await fetch(`http://${pod?.status.podIP}:${port}/metrics`)
    assert.match(await response.text(), /portcullis_requests_total\{/)
  })

  const guarded = (rules: readonly object[]) => ({
    config: {
      gateways: { default: { port: 4000 } },
      routes: [
        {
          name: 'orders',
          policies: {
            jwtAuthentication: { mode: 'Strict', providers: [PROVIDER] },
            authorization: { rules },
          },
          backends: [{ host: `orders.${NAMESPACE}.svc.cluster.local:80` }],
        },
      ],
    },
  })
  const RULES = [
    { allow: "jwt.sub == 'alice'" },
    { require: "request.headers['x-internal'] == 'true'" },
    { deny: "request.path.startsWith('/admin')" },
  ]

  it('a new configuration reaches the running pod without a restart', async () => {
    const orders = {
      config: {
        gateways: { default: { port: 4000 } },
        routes: [{ name: 'orders', policies: { directResponse: { status: 200, body: 'orders' } } }],
      },
    }
    cluster.helm(['install', 'orders', CHART, '--namespace', NAMESPACE, '--wait'], {
      ...orders,
      gateway: { service: { type: 'ClusterIP' } },
    })
    const before = pods()
    await helm('upgrade', guarded(RULES))
    await eventually(
      async () => ((await ask()).status === 401 ? true : undefined),
      'the new configuration',
    )
    assert.deepEqual(pods().map(nameAndRestarts), before.map(nameAndRestarts))
  })

  for (const [who, internal, path, status] of [
    ['alice', 'true', '/', 200],
    ['alice', undefined, '/', 403],
    ['bob', 'true', '/', 403],
    ['bob', undefined, '/', 403],
    ['alice', 'true', '/admin', 403],
    [undefined, 'true', '/', 401],
  ] as const) {
    it(`${who ?? 'nobody'}, x-internal ${internal ?? 'absent'}, ${path}: ${status}`, async () => {
      const headers = {
        ...(who === undefined ? {} : { authorization: `Bearer ${tokenOf({ sub: who })}` }),
        ...(internal === undefined ? {} : { 'x-internal': internal }),
      }
      const response = await ask(headers, 'GET', path)
      assert.equal(response.status, status)
      if (status === 200) assert.equal(response.text, 'orders')
    })
  }

  it('a token with another signature: 401', async () => {
    const [head, claims] = tokenOf({ sub: 'alice' }).split('.')
    const signature = tokenOf({ sub: 'bob' }).split('.')[2]
    assert.equal(
      (await ask({ authorization: `Bearer ${head}.${claims}.${signature}`, 'x-internal': 'true' }))
        .status,
      401,
    )
  })

  const open = (settings: object) => ({
    replicaCount: 3,
    config: {
      config: { workers: 1, ...settings },
      gateways: { default: { port: 4000 } },
      routes: [
        { name: 'orders', backends: [{ host: `orders.${NAMESPACE}.svc.cluster.local:80` }] },
      ],
    },
  })

  it('three replicas; a change of the settings restarts pods', async () => {
    const before = pods().map(({ metadata }) => metadata.name)
    await helm('upgrade', open({}))
    const after = pods().map(({ metadata }) => metadata.name)
    assert.equal(after.length, 3)
    assert.deepEqual(
      after.filter((name) => before.includes(name)),
      [],
    )
    await eventually(
      async () => ((await ask()).text === 'orders' ? true : undefined),
      'the new configuration',
    )
  })

  for (const keepAlive of [false, true]) {
    it(`a rolling upgrade under load fails no request, ${keepAlive ? 'on kept connections' : 'each on its own connection'}`, async () => {
      const before = pods().map(({ metadata }) => metadata.name)
      const load = startLoad(address, '/', { keepAlive })
      await helm('upgrade', open({ logging: { level: keepAlive ? 'warn' : 'debug' } }))
      // The last of the old pods still terminates when the new ones are ready.
      await eventually(
        async () => (everyPod().some((name) => before.includes(name)) ? undefined : true),
        'the end of the old pods',
      )
      const { served, failed } = await load.stop()
      assert.deepEqual(failed, [])
      assert.ok(served > 100, `${served} requests were served`)
    })
  }

  it('helm rollback restores the previous configuration', async () => {
    cluster.helm(['rollback', 'edge', '2', '--namespace', NAMESPACE, '--wait', '--timeout', '120s'])
    await eventually(
      async () => ((await ask()).status === 401 ? true : undefined),
      'the old configuration',
    )
    assert.equal(pods().length, 1)
  })

  it('helm uninstall leaves nothing behind', async () => {
    for (const release of ['edge', 'orders'])
      cluster.helm(['uninstall', release, '--namespace', NAMESPACE, '--wait'])
    await eventually(async () => (everyPod().length === 0 ? true : undefined), 'an end of all pods')
    const kinds = 'deployment,service,configmap,serviceaccount,pod,job,role,rolebinding'
    const left = kubectl('get', kinds, '-l', 'app.kubernetes.io/part-of=portcullis', '-o', 'name')
    assert.equal(left, '')
  })

  describeDatabase(() => cluster)
  describeUpgrades(() => cluster)
  describeControlPlane(() => cluster)

  function everyPod(): readonly string[] {
    const { items } = JSON.parse(kubectl('get', 'pods', '-l', PROXIES, '-o', 'json')) as PodList
    return items.map(({ metadata }) => metadata.name)
  }
})

function nameAndRestarts({ metadata, status }: Pod) {
  return [metadata.name, status.containerStatuses?.[0]?.restartCount]
}
