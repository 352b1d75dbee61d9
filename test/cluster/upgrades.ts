import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { chartFolder } from '../charts/helm.ts'
import { type Cluster, eventually } from './harness.ts'
import { startLoad } from './load.ts'
import { type Pod, type PodList, podName } from './pods.ts'

const NAMESPACE = 'upgrades'
const CHART = chartFolder('portcullis-standalone')
const EXAMPLES = join(import.meta.dirname, '../../examples/kubernetes')
const read = (name: string) => parse(readFileSync(join(EXAMPLES, name), 'utf8'))

/** Upgrades as a user does them, one after the other, on an existing cluster. */
export function describeUpgrades(clusterHere: () => Cluster): void {
  describe('upgrades', () => {
    let cluster: Cluster
    let address = ''
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-issuer-'))
    /** A token made with the command of the guide. */
    const token = (user: string) => {
      const args = [join(EXAMPLES, 'token.mjs'), user]
      return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }).stdout.trim()
    }
    const tokens = { alice: token('alice'), bob: token('bob') }

    before(() => {
      cluster = clusterHere()
      cluster.createNamespace(NAMESPACE)
    })
    after(() => {
      rmSync(folder, { recursive: true })
      cluster.helm(['uninstall', 'edge', '--namespace', NAMESPACE, '--wait'])
      cluster.helm(['uninstall', 'orders', '--namespace', 'shop', '--wait'])
    })

    const inNamespace = ['--namespace', NAMESPACE] as const
    const WAIT = ['--wait', '--timeout', '180s'] as const
    const kubectl = (...args: readonly string[]) => cluster.kubectl([...inNamespace, ...args])
    const helm = (args: readonly string[], values: object) =>
      cluster.helmBeside([...args, ...inNamespace], values)

    const pods = (): readonly Pod[] => {
      const list = kubectl('get', 'pods', '-l', 'app.kubernetes.io/component=proxy', '-o', 'json')
      return (JSON.parse(list) as PodList).items
    }

    const ask = async (headers: Readonly<Record<string, string>> = {}) => {
      const signal = AbortSignal.timeout(10_000)
      const response = await fetch(`http://${address}/`, { headers, signal })
      await response.text()
      return response.status
    }

    /**
     * The versions of all objects that an upgrade could change, except objects that change on their
     * own.
     */
    const everything = () => {
      const kinds = 'deployment,configmap,service,replicaset'
      const labels = 'app.kubernetes.io/component=proxy'
      const { items } = JSON.parse(kubectl('get', kinds, '-l', labels, '-o', 'json')) as {
        readonly items: readonly { metadata: { name: string; resourceVersion: string } }[]
      }
      return items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
    }

    it('the idle default pod stays below 80 % of its memory request', async () => {
      await helm(['install', 'edge', CHART, ...WAIT], {})
      address = await cluster.balancerAddress(NAMESPACE, 'edge')
      const [pod] = pods()
      const [node] = cluster.kubectl(['get', 'nodes', '-o', 'name']).trim().split('/').slice(-1)
      const used = await eventually(async () => {
        const stats = cluster.kubectl(['get', '--raw', `/api/v1/nodes/${node}/proxy/stats/summary`])
        const { pods: all } = JSON.parse(stats) as Stats
        const own = all.find(({ podRef }) => podRef.name === pod?.metadata.name)
        return own?.containers?.[0]?.memory?.workingSetBytes
      }, 'what the kubelet measured')
      assert.ok(used < 0.8 * 128 * 1024 * 1024, `${used} bytes`)
      assert.match(cluster.logs(NAMESPACE, 'edge'), /workers=1\b/)
    })

    it('the first upgrade of the guide, under load: no request fails, no pod restarts', async () => {
      cluster.createNamespace('shop')
      cluster.helm(
        ['install', 'orders', CHART, '--namespace', 'shop', ...WAIT],
        read('orders-values.yaml'),
      )
      kubectl('create', 'secret', 'generic', 'issuer-keys', `--from-file=${folder}/jwks.json`)
      const seen = new Map<string, number>()
      let isOver = false
      const watch = (async () => {
        while (!isOver) {
          for (const { metadata, status } of pods()) {
            const { restartCount = 0 } = status.containerStatuses?.[0] ?? {}
            seen.set(metadata.name, Math.max(restartCount, seen.get(metadata.name) ?? 0))
          }
          await new Promise((resolve) => setTimeout(resolve, 500))
        }
      })()
      // The new configuration requires a token and responds with 401.
      const load = startLoad(address, '/', { keepAlive: false, expected: [200, 401] })
      await helm(['upgrade', 'edge', CHART, ...WAIT], read('standalone-values.yaml'))
      await eventually(async () => (pods().length === 3 ? true : undefined), 'three pods')
      const { served, failed } = await load.stop()
      isOver = true
      await watch
      assert.deepEqual(failed, [])
      assert.ok(served > 100, `${served} requests were served`)
      assert.deepEqual(
        [...seen].filter(([, restarts]) => restarts > 0),
        [],
      )
      const [alice, bob] = [`Bearer ${tokens.alice}`, `Bearer ${tokens.bob}`]
      assert.deepEqual(
        [
          await ask(),
          await ask({ authorization: bob, 'x-internal': 'true' }),
          await ask({ authorization: alice }),
          await ask({ authorization: alice, 'x-internal': 'true' }),
        ],
        [401, 403, 403, 200],
      )
    })

    it('helm test: every pod serves it', () => {
      assert.match(cluster.helm(['test', 'edge', ...inNamespace]), /Phase: +Succeeded/)
    })

    const example = () => read('standalone-values.yaml')
    const wrong = () => {
      const values = example()
      values.config.routes[0].policies.authorization.rules = [{ allow: 'jwt.sub ==' }]
      return values
    }

    it('an invalid configuration is rejected, with its place, before anything changes', async () => {
      const before = [everything(), pods().map(podName)]
      const rejected = helm(['upgrade', 'edge', CHART, ...WAIT], wrong())
      await assert.rejects(rejected, /pre-upgrade/)
      assert.match(kubectl('logs', 'job/edge-validate'), /error\[PC01\d\d\]/)
      assert.deepEqual([everything(), pods().map(podName)], before)
      assert.equal(await ask(), 401)
    })

    it('so is a weak cookie secret', async () => {
      const before = everything()
      const secret = `OIDC_COOKIE_SECRET=${'0f'.repeat(32)}`
      kubectl('create', 'secret', 'generic', 'cookies', `--from-literal=${secret}`)
      const values = { ...example(), oidc: { enabled: true, cookieSecretName: 'cookies' } }
      await assert.rejects(helm(['upgrade', 'edge', CHART, ...WAIT], values), /pre-upgrade/)
      assert.match(kubectl('logs', 'job/edge-validate'), /error\[PC0407\].*OIDC_COOKIE_SECRET/)
      assert.deepEqual(everything(), before)
    })

    it('one that bypasses the validation changes nothing, and helm test reports it', async () => {
      const before = pods().map(podName)
      await helm(['upgrade', 'edge', CHART, '--no-hooks'], wrong())
      await eventually(
        async () => (/outcome=rejected/.test(cluster.logs(NAMESPACE, 'edge')) ? true : undefined),
        'a record of it',
        150,
      )
      assert.throws(() => cluster.helm(['test', 'edge', ...inNamespace]), /failed/)
      assert.equal(await ask(), 401)
      assert.deepEqual(pods().map(podName), before)
      await helm(['upgrade', 'edge', CHART, ...WAIT], example())
    })

    it('a stuck rollout: pods of the old template start, and restart', async () => {
      const stuck = {
        ...example(),
        image: { tag: 'missing' },
        extraVolumes: [],
        extraVolumeMounts: [],
        config: { gateways: { default: { port: 4001 } }, config: { workers: 2 } },
      }
      const old = pods().map(podName)
      await helm(['upgrade', 'edge', CHART, '--no-hooks'], stuck)
      const isNew = ({ spec }: Pod) => spec.containers[0]?.image.endsWith(':missing') === true
      await eventually(async () => (pods().some(isNew) ? true : undefined), 'a new pod')
      kubectl('delete', 'pod', old[0] as string)
      const started = await eventually(async () => {
        const found = pods().find((pod) => !isNew(pod) && !old.includes(podName(pod)))
        return found?.status.containerStatuses?.[0]?.ready === true ? found : undefined
      }, 'a pod of the old template')
      // Restarts its container, as after a crash.
      kubectl(
        'exec',
        podName(started),
        '--',
        'node',
        '--eval',
        'process.kill(1, "SIGKILL"); process.kill(1, "SIGTERM")',
      )
      await eventually(async () => {
        const { status } = pods().find((pod) => podName(pod) === podName(started)) as Pod
        const [container] = status.containerStatuses ?? []
        return container?.restartCount === 1 && container.ready ? true : undefined
      }, 'the container to be back')
      assert.equal(await ask(), 401)
    })

    it('helm rollback ends it, and the earlier ConfigMaps exist', async () => {
      cluster.helm(['rollback', 'edge', ...inNamespace, ...WAIT])
      await eventually(async () => (pods().length === 3 ? true : undefined), 'three pods')
      assert.deepEqual(
        pods().flatMap(({ status }) => status.containerStatuses?.map(({ ready }) => ready) ?? []),
        [true, true, true],
      )
      assert.match(cluster.helm(['test', 'edge', ...inNamespace]), /Phase: +Succeeded/)
      const maps = kubectl(
        'get',
        'configmap',
        '-l',
        'app.kubernetes.io/component=proxy',
        '-o',
        'name',
      )
      // That of the installation, and that of the example.
      assert.equal(maps.trim().split('\n').length, 2, maps)
    })
  })
}

interface Stats {
  readonly pods: readonly {
    readonly podRef: { readonly name: string }
    readonly containers?: readonly { readonly memory?: { readonly workingSetBytes?: number } }[]
  }[]
}
