// Compares the permissions that the chart grants with the audit log of the API server: every
// granted verb was used, and the controller requested nothing else.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HttpsKubeClient } from '../../src/controller/cluster/client.ts'
import { readKubeconfig } from '../../src/controller/cluster/credentials.ts'
import { loadAuthority } from '../../src/controller/delivery-server.ts'
import { eventually } from './harness.ts'
import { MESH, OBJECTS, PARAMETERS } from './one-of-each.ts'
import type { Plane } from './plane.ts'
import { SYSTEM } from './programs.ts'

interface Role {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

/** Server-side apply creates an object that does not exist. */
const CREATED = 201

export function describePermissionsByUse(planeHere: () => Plane): void {
  describe('the permissions that the chart grants', () => {
    const account = `system:serviceaccount:${SYSTEM}:portcullis`

    it('one object of every kind is created and deleted', async () => {
      const plane = planeHere()
      plane.apply(...MESH)
      plane.apply(PARAMETERS, ...OBJECTS)
      const deployed = (kinds: string) =>
        plane.cluster.kubectl(['-n', 'shop', 'get', kinds, '-l', LABEL, '-o', 'name'])
      const every = 'daemonset,deployment,pdb,hpa,svc,sa,cm,secret'
      const isThere = (kinds: string, ...names: readonly string[]) =>
        eventually(async () => {
          const found = deployed(kinds)
          return names.every((name) => found.includes(`${name}/`)) || undefined
        }, `${names} of the Gateway`)
      await isThere('daemonset', 'daemonset.apps')
      const change = (spec: object) => plane.apply({ ...PARAMETERS, spec } as object)
      change({
        deployment: { spec: { replicas: 1 } },
        podDisruptionBudget: {},
        horizontalPodAutoscaler: { spec: { maxReplicas: 2 } },
      })
      await isThere(
        'deployment,pdb,hpa',
        'deployment.apps',
        'poddisruptionbudget.policy',
        'horizontalpodautoscaler.autoscaling',
      )
      plane.apply({
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'GatewayClass',
        metadata: { name: 'theirs' },
        spec: { controllerName: 'example.com/other' },
      })
      const patch = JSON.stringify({ spec: { gatewayClassName: 'theirs' } })
      plane.cluster.kubectl(['-n', 'shop', 'patch', 'gateway', 'all', '--type=merge', '-p', patch])
      await eventually(async () => deployed(every) === '' || undefined, 'the end of all objects')
    })

    it('the delivery certificates are created and replaced', async () => {
      const { cluster } = planeHere()
      const { server, tls } = readKubeconfig(cluster.kubeconfig)
      const token = cluster.kubectl(['-n', SYSTEM, 'create', 'token', 'portcullis']).trim()
      const ca = tls.ca === undefined ? {} : { ca: tls.ca }
      const client = new HttpsKubeClient({ server, tls: ca, token: () => token })
      cluster.kubectl(['-n', SYSTEM, 'delete', 'secret', 'portcullis-xds-cert'])
      const now = Date.now()
      await loadAuthority(client, SYSTEM, ['localhost'], now)
      await loadAuthority(client, SYSTEM, ['localhost'], now + 9.5 * 365 * 24 * 3_600_000)
      client.close()
    })

    it('no other permission was requested', () => {
      const rejected = planeHere()
        .cluster.audited(account)
        .filter(({ responseStatus }) => responseStatus?.code === 403)
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.namespace}/${objectRef?.resource}`)
      assert.deepEqual([...new Set(rejected)], [])
    })

    it('every granted verb is used', async () => {
      const { cluster } = planeHere()
      const part = 'app.kubernetes.io/part-of=portcullis'
      const list = cluster.kubectl(['get', 'clusterrole,role', '-A', '-l', part, '-o', 'json'])
      const { items } = JSON.parse(list) as { readonly items: readonly Role[] }
      assert.equal(items.length, 3)
      const unused = () => {
        const events = cluster.audited(account)
        return items.flatMap(({ metadata, rules }) => {
          const used = usedIn(events, metadata.namespace)
          return grantedBy(rules)
            .filter((one) => !used.has(one))
            .map((one) => `${metadata.name}: ${one}`)
        })
      }
      // Watches are logged when they end, or after a while.
      await eventually(async () => unused().length === 0 || undefined, 'every use', 30).catch(
        () => {},
      )
      assert.deepEqual(unused(), [])
    })
  })
}

function usedIn(
  events: ReturnType<Plane['cluster']['audited']>,
  namespace: string | undefined,
): ReadonlySet<string> {
  const used = new Set<string>()
  for (const { verb, objectRef, responseStatus } of events) {
    if (objectRef === undefined) continue
    if (namespace !== undefined && objectRef.namespace !== namespace) continue
    const { apiGroup = '', resource, subresource } = objectRef
    const what = `${apiGroup}/${resource}${subresource === undefined ? '' : `/${subresource}`}`
    used.add(`${verb} ${what}`)
    if (verb === 'patch' && responseStatus?.code === CREATED) used.add(`create ${what}`)
  }
  return used
}

function grantedBy(rules: Role['rules']): readonly string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
    ),
  )
}

const LABEL = 'gateway.networking.k8s.io/gateway-name=all'
