// The outside view of a cluster: the commands of `portcullis` with --cluster, the columns of
// kubectl, and events.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { KINDS } from '../../src/controller/cluster/kinds.ts'
import { PORTCULLIS } from '../programs.ts'
import { eventually } from './harness.ts'
import { type Plane, PORTCULLIS_API } from './plane.ts'

const KUBECTL = join(import.meta.dirname, '../../.cache/cluster/bin/kubectl')
const POLICY = `${PORTCULLIS_API}/namespaces/shop/proxypolicies/seen`

interface Item {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
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
          spec: {
            hostnames: ['seen.example.com'],
            parentRefs: [{ name: 'seen' }],
            rules: [{ backendRefs: [{ name: 'seen', port: 8080 }] }],
          },
        },
        ...plane.serviceOf('seen', 80, namespace),
        policy("request.headers['x-who'] == 'alice'"),
      )
    })
    after(() => rmSync(folder, { recursive: true }))

    /** Asynchronous, since this process is also the servers of the test. */
    function run(program: string, ...args: readonly string[]): Promise<Ran> {
      const env = { ...process.env, KUBECONFIG: plane.cluster.kubeconfig }
      return new Promise((resolve, reject) => {
        const child = spawn(program, args, { env })
        let [stdout, stderr] = ['', '']
        child.stdout.setEncoding('utf8').on('data', (chunk) => (stdout += chunk))
        child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk))
        child.on('error', reject)
        child.on('close', (status) => resolve({ status, stdout, stderr }))
      })
    }
    const portcullis = (...args: readonly string[]) => run(process.execPath, PORTCULLIS, ...args)

    /** All objects of the cluster, as a repository would contain them. */
    async function manifests(): Promise<string> {
      const items: Item[] = []
      for (const { plural, group } of KINDS) {
        const kind = group === '' ? plural : `${plural}.${group}`
        const { status, stdout } = await run(KUBECTL, 'get', kind, '-A', '-o', 'json')
        // Skips kinds that are not installed.
        if (status === 0) items.push(...(JSON.parse(stdout) as { items: Item[] }).items)
      }
      const file = join(folder, 'all.yaml')
      writeFileSync(file, items.map((item) => stringify(item)).join('---\n'))
      return file
    }

    for (const command of ['effective', 'lint']) {
      it(`${command} --cluster says what the same objects in manifests come to`, async () => {
        const file = await manifests()
        const cluster = await portcullis(command, '--cluster', '--json')
        const written = await portcullis(command, '-f', file, '--json')
        assert.notEqual(cluster.stdout, '', cluster.stderr)
        assert.notEqual(written.stdout, '', written.stderr)
        assert.deepEqual(JSON.parse(cluster.stdout), JSON.parse(written.stdout), cluster.stderr)
        assert.equal(cluster.status, written.status)
        if (command === 'effective') assert.match(cluster.stdout, /HTTPRoute\/shop\/seen/)
      })
    }

    it('explain --cluster reports what decides about a request, and where it is written', async () => {
      const ask = (...more: readonly string[]) => {
        const request = ['--request', 'GET http://seen.example.com/', ...more]
        return portcullis('explain', '--cluster', ...request, '--json')
      }
      const denied = await ask()
      const admitted = await ask('--header', 'x-who: alice')
      assert.match(denied.stdout, /ProxyPolicy shop\/seen: spec\.traffic/, denied.stderr)
      assert.deepEqual(
        [denied, admitted].map(({ stdout }) => JSON.parse(stdout).outcome),
        ['denied', 'forwarded'],
      )
    })

    it('diff --cluster shows which requests would be newly admitted before anything is applied', async () => {
      const file = await manifests()
      const same = await portcullis('diff', '--cluster', file, '--json', '--fail-on-change')
      assert.equal(same.status, 0, same.stdout + same.stderr)
      const wider = readFileSync(file, 'utf8').replaceAll("== 'alice'", "!= 'mallory'")
      const other = join(folder, 'wider.yaml')
      writeFileSync(other, wider)
      const found = await portcullis('diff', '--cluster', other, '--fail-on-newly-admitted')
      assert.equal(found.status, 1, found.stdout + found.stderr)
      assert.match(found.stdout, /newly admitted/i)
      assert.match(found.stdout, /seen\.example\.com/)
    })

    it('kubectl get shows target and health of a policy at a glance', async () => {
      await plane.conditions(POLICY, { RulesHealthy: 'True Healthy' })
      assert.match(
        plane.cluster.kubectl(['-n', 'shop', 'get', 'proxypolicy', 'seen']),
        /NAME +KIND +TARGET +ACCEPTED +ATTACHED +HEALTHY +PROGRAMMED +AGE\nseen +HTTPRoute +seen +True +True +True +(True|False) +\d/,
      )
    })

    it('events report when a policy becomes invalid, where, and when it is valid again', async () => {
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
