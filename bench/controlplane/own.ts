import { join } from 'node:path'
import { chartFolder } from '../../test/charts/helm.ts'
import { type Cluster, eventually } from '../../test/cluster/harness.ts'
import { bringCertificate } from '../../test/cluster/plane.ts'
import { Programs, type Running, SYSTEM } from '../../test/cluster/programs.ts'
import { hasCondition, type Plane } from './plane.ts'

const MERGE = 'application/merge-patch+json'
/** Log lines of the controller and the proxy for an edit. */
const TRANSLATED = /"translate".*"changed":\["/
const APPLIED = /config.*outcome=applied/

/** Starts this controller and a proxy as processes. */
export async function startOwn(cluster: Cluster, port: number): Promise<Plane> {
  cluster.createNamespace(SYSTEM)
  const definitions = join(chartFolder('portcullis-crds'), 'templates')
  cluster.kubectl(['apply', '--server-side', '-f', definitions])
  cluster.helm(['install', 'portcullis', chartFolder('portcullis'), '--namespace', SYSTEM])
  bringCertificate(cluster)
  const programs = new Programs(cluster, port)
  let proxy: Running | undefined
  try {
    const controller = await programs.startController()
    return {
      gatewayClass: 'portcullis',
      port: port + 3,
      policies: '/apis/portcullis.dev/v1alpha1/namespaces/apps/proxypolicies',
      policyOf,
      isProgrammed: (policy) => hasCondition(policy, 'Programmed'),
      controller: controller.child.pid ?? 0,
      ready: async () => {
        await deployed(cluster)
        const token = await programs.tokenFor('edge')
        proxy = await programs.startProxy('edge', token, port + 5)
        await eventually(() => programs.isReady(port + 5), 'a ready proxy', 180)
      },
      logged: () => ({
        translated: timesOf(controller, TRANSLATED),
        applied: timesOf(proxy, APPLIED),
      }),
      close: () => programs.close(),
    }
  } catch (error) {
    await programs.close()
    throw error
  }
}

/** Waits until the Gateway has its objects and an address. */
async function deployed(cluster: Cluster): Promise<void> {
  const service = '/api/v1/namespaces/apps/services/edge'
  // The Deployment is applied last.
  for (const path of [service, '/apis/apps/v1/namespaces/apps/deployments/edge']) {
    const isThere = async () => (await cluster.ask('GET', path)).status === 200 || undefined
    await eventually(isThere, path, 120)
  }
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }
  await cluster.ask('PATCH', `${service}/status`, { status }, MERGE)
}

/** Times of the matching lines in the output that a program still has. */
function timesOf(program: Running | undefined, line: RegExp): readonly number[] {
  return (program?.output().split('\n') ?? []).flatMap((text) => {
    const [time] = line.test(text) ? (/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text) ?? []) : []
    return time === undefined ? [] : [Date.parse(time)]
  })
}

function policyOf(n: number, value: string) {
  const policy = { matchExpressions: [`request.headers['x-who'] == '${value}'`] }
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: `p${n}` },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `r${n}` }],
      traffic: { authorization: { action: 'Allow', policy } },
    },
  }
}
