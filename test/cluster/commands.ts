// What people see of a cluster from outside: the commands of `portcullis` with --cluster, the
// columns of kubectl, and events.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { KINDS } from '../../src/controller/cluster/kinds.ts'
import { eventually } from './harness.ts'
import { type Plane, PORTCULLIS_API } from './plane.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/portcullis.ts')
const POLICY = `${PORTCULLIS_API}/namespaces/shop/proxypolicies/seen`

interface Item {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

export function describeCommands(here: () => Plane): void {
  describe('a cluster from outside', () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-commands-'))
    let plane: Plane
    before(() => {
      plane = here()
      const [port, namespace] = [plane.take(), 'shop']
      plane.apply(
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          metadata: { name: 'seen', namespace },
          spec: {
            gatewayClassName: 'portcullis',
            listeners: [{ name: 'http', protocol: 'HTTP', port }],
          },
        },
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'HTTPRoute',
          metadata: { name: 'seen', namespace },
          spec: { hostnames: ['seen.example.com'], parentRefs: [{ name: 'seen' }], rules: [{}] },
        },
        policy("request.headers['x-who'] == 'alice'"),
      )
    })
    after(() => rmSync(folder, { recursive: true }))

    function run(...args: readonly string[]) {
      const env = { ...process.env, KUBECONFIG: plane.cluster.kubeconfig }
      const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
        encoding: 'utf8',
        env,
        maxBuffer: 2 ** 28,
      })
      return { status, stdout, stderr }
    }

    /** All objects of the cluster, as somebody would keep them in a repository. */
    function manifests(): string {
      const items = KINDS.flatMap(({ plural, group }) => {
        const kind = group === '' ? plural : `${plural}.${group}`
        const { status, stdout } = spawnSync(
          join(import.meta.dirname, '../../.cache/cluster/bin/kubectl'),
          ['get', kind, '-A', '-o', 'json'],
          {
            encoding: 'utf8',
            env: { ...process.env, KUBECONFIG: plane.cluster.kubeconfig },
            maxBuffer: 2 ** 28,
          },
        )
        // Kinds that are not installed.
        return status === 0 ? (JSON.parse(stdout) as { readonly items: readonly Item[] }).items : []
      })
      const file = join(folder, 'all.yaml')
      writeFileSync(file, items.map((item) => JSON.stringify(item)).join('\n---\n'))
      return file
    }

    for (const command of ['effective', 'lint']) {
      it(`${command} --cluster says what the same objects in manifests come to`, () => {
        const file = manifests()
        const [cluster, written] = [
          run(command, '--cluster', '--json'),
          run(command, '-f', file, '--json'),
        ]
        assert.deepEqual(JSON.parse(cluster.stdout), JSON.parse(written.stdout), cluster.stderr)
        assert.equal(cluster.status, written.status)
        if (command === 'effective') assert.match(cluster.stdout, /HTTPRoute\/shop\/seen/)
      })
    }

    for (const [who, expected] of [
      ['alice', 0],
      ['mallory', 1],
    ] as const) {
      it(`explain --cluster: ${who} is ${expected === 0 ? 'allowed' : 'denied'}`, () => {
        const request = ['-r', 'GET /', '-H', 'host: seen.example.com', '-H', `x-who: ${who}`]
        const { status, stdout, stderr } = run('explain', '--cluster', ...request)
        assert.equal(status, expected, `${stdout}${stderr}`)
        assert.match(stdout, expected === 0 ? /allow/ : /no Allow rule matched/)
      })
    }

    it('diff --cluster compares with manifests', () => {
      const file = manifests()
      const same = run('diff', '--cluster', file, '--fail-on-change')
      assert.equal(same.status, 0, `${same.stdout}${same.stderr}`)
      const changed = join(folder, 'changed.yaml')
      const text = readFileSync(file, 'utf8').replaceAll(`== 'alice'"]`, `== 'mallory'"]`)
      writeFileSync(changed, text)
      assert.notEqual(text, readFileSync(file, 'utf8'))
      const differs = run('diff', '--cluster', changed, '--fail-on-newly-admitted')
      assert.equal(differs.status, 1, `${differs.stdout}${differs.stderr}`)
    })

    it('kubectl get shows target and health of a policy at a glance', async () => {
      await plane.conditions(POLICY, { RulesHealthy: 'True Healthy' })
      assert.match(
        plane.cluster.kubectl(['-n', 'shop', 'get', 'proxypolicy', 'seen']),
        /NAME +KIND +TARGET +ACCEPTED +ATTACHED +HEALTHY +PROGRAMMED +AGE\nseen +HTTPRoute +seen +True +True +True +(True|False) +\d/,
      )
    })

    it('events say when a policy becomes wrong, where, and when it is right again', async () => {
      const said = (type: string, reason: string) =>
        eventually(async () => {
          const args = ['-n', 'shop', 'get', 'events', '-o', 'json']
          const { items } = JSON.parse(plane.cluster.kubectl(args)) as {
            readonly items: readonly EventObject[]
          }
          return items.find(
            (one) =>
              one.involvedObject.kind === 'ProxyPolicy' &&
              one.involvedObject.name === 'seen' &&
              one.type === type &&
              one.reason === reason,
          )?.message
        }, `a ${type} event ${reason}`)
      plane.apply(policy("source.address == '10.0.0.0/8'"))
      assert.match(
        await said('Warning', 'Invalid'),
        /Accepted is False: spec\.traffic\.authorization\.policy\.matchExpressions\[0\]:1:1: /,
      )
      plane.apply(policy("request.headers['x-who'] == 'alice'"))
      await said('Normal', 'Accepted')
    })
  })
}

interface EventObject {
  readonly involvedObject: { readonly kind: string; readonly name: string }
  readonly type: string
  readonly reason: string
  readonly message: string
}

function policy(rule: string): object {
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'seen', namespace: 'shop' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'seen' }],
      traffic: { authorization: { action: 'Allow', policy: { matchExpressions: [rule] } } },
    },
  }
}
