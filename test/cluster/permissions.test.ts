import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { chartFolder } from '../charts/helm.ts'
import { type Cluster, missing, startCluster } from './harness.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }

const READ = ['list', 'watch']
const WRITE = ['create', 'delete', 'patch', 'update']
/** Server-side apply requires no update. */
const APPLY = ['create', 'delete', 'patch']
const STATUS = ['patch']

/** `group/resource` pairs that the controller reads in all namespaces. */
const READABLE = [
  '/namespaces',
  '/services',
  '/configmaps',
  '/secrets',
  '/serviceaccounts',
  'discovery.k8s.io/endpointslices',
  'apps/deployments',
  'apps/daemonsets',
  'autoscaling/horizontalpodautoscalers',
  'policy/poddisruptionbudgets',
  'apiextensions.k8s.io/customresourcedefinitions',
  'gateway.networking.k8s.io/gatewayclasses',
  'gateway.networking.k8s.io/gateways',
  'gateway.networking.k8s.io/httproutes',
  'gateway.networking.k8s.io/grpcroutes',
  'gateway.networking.k8s.io/tlsroutes',
  'gateway.networking.k8s.io/tcproutes',
  'gateway.networking.k8s.io/backendtlspolicies',
  'gateway.networking.k8s.io/listenersets',
  'gateway.networking.k8s.io/referencegrants',
  'portcullis.dev/proxypolicies',
  'portcullis.dev/proxybackends',
  'portcullis.dev/proxyparameters',
  'portcullis.dev/proxymodels',
  'networking.istio.io/serviceentries',
  'networking.istio.io/workloadentries',
]

/** The resources that it deploys for a Gateway. */
const DEPLOYED = [
  '/configmaps',
  '/secrets',
  '/serviceaccounts',
  '/services',
  'apps/deployments',
  'apps/daemonsets',
  'autoscaling/horizontalpodautoscalers',
  'policy/poddisruptionbudgets',
]

const OWN_STATUS = [
  'gateway.networking.k8s.io/gateways',
  'gateway.networking.k8s.io/httproutes',
  'portcullis.dev/proxypolicies',
  'portcullis.dev/proxybackends',
  'portcullis.dev/proxymodels',
]

/** Operations that it must never be allowed. */
const NEVER: readonly (readonly [verb: string, what: string])[] = [
  ...[
    '/nodes',
    '/pods',
    '/namespaces',
    'rbac.authorization.k8s.io/clusterroles',
    'rbac.authorization.k8s.io/roles',
  ].flatMap((what) => WRITE.map((verb) => [verb, what] as const)),
  ...OWN_STATUS.flatMap((what) => WRITE.map((verb) => [verb, what] as const)),
  ['delete', 'gateway.networking.k8s.io/gatewayclasses'],
  ['deletecollection', '/secrets'],
  ['create', '/pods/exec'],
  ['create', '/serviceaccounts/token'],
  ['impersonate', '/users'],
  ['escalate', 'rbac.authorization.k8s.io/clusterroles'],
  ['bind', 'rbac.authorization.k8s.io/clusterroles'],
  ['update', 'apiextensions.k8s.io/customresourcedefinitions'],
  ['get', 'inference.networking.k8s.io/inferencepools'],
  ['get', 'gateway.networking.x-k8s.io/xbackends'],
  ['get', '/nodes'],
  ...READ.map((verb) => [verb, '/pods'] as const),
  ...DEPLOYED.map((what) => ['update', what] as const),
]

interface Installation {
  readonly namespace: string
  readonly values: object
  /** Whether it may write in `elsewhere` and in `team-a`. */
  readonly writes: { readonly elsewhere: boolean; readonly 'team-a': boolean }
}

const INSTALLATIONS: readonly Installation[] = [
  { namespace: 'wide', values: {}, writes: { elsewhere: true, 'team-a': true } },
  {
    namespace: 'narrow',
    values: { rbac: { gatewayNamespaces: ['team-a'] } },
    writes: { elsewhere: false, 'team-a': true },
  },
]

describe('permissions on a real API server', options, () => {
  let cluster: Cluster

  before(async () => {
    cluster = await startCluster()
    for (const name of ['elsewhere', 'team-a', 'wide', 'narrow', 'none', 'other'])
      cluster.createNamespace(name)
    for (const { namespace, values } of INSTALLATIONS) install(namespace, values)
    install('none', { rbac: { create: false } })
    install('other', {
      inferenceExtension: { enabled: true },
      xBackend: { enabled: true },
      istio: { enabled: false },
    })
  })
  after(() => cluster?.close())

  function install(namespace: string, values: object): void {
    cluster.helm(
      ['install', 'portcullis', chartFolder('portcullis'), '--namespace', namespace],
      values,
    )
  }

  async function mayI(
    account: string,
    verb: string,
    what: string,
    where?: string,
    name?: string,
  ): Promise<boolean> {
    const [group, resource, subresource] = what.split('/')
    const { body } = await cluster.ask(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: `system:serviceaccount:${account}:portcullis`,
          resourceAttributes: { verb, group, resource, subresource, namespace: where, name },
        },
      },
    )
    return (body['status'] as { readonly allowed: boolean }).allowed
  }

  /** The questions whose result is not the expected one. */
  async function wrong(expected: boolean, questions: readonly (readonly string[])[]) {
    const responses = await Promise.all(
      questions.map(async ([account = '', verb = '', what = '', where, name]) => {
        return (await mayI(account, verb, what, where, name)) === expected
          ? []
          : [`${verb} ${what} in ${where ?? 'all'}`]
      }),
    )
    return responses.flat()
  }

  for (const { namespace, writes } of INSTALLATIONS) {
    describe(`the controller in ${namespace}`, () => {
      it('reads in all namespaces', async () => {
        const questions = READABLE.flatMap((what) => READ.map((verb) => [namespace, verb, what]))
        assert.deepEqual(await wrong(true, questions), [])
      })

      it('writes the status of the objects that it reads', async () => {
        const questions = OWN_STATUS.flatMap((what) =>
          STATUS.map((verb) => [namespace, verb, `${what}/status`]),
        )
        assert.deepEqual(await wrong(true, questions), [])
      })

      it('creates gateway classes', async () => {
        const questions = ['create', 'patch'].map((verb) => [
          namespace,
          verb,
          'gateway.networking.k8s.io/gatewayclasses',
        ])
        assert.deepEqual(await wrong(true, questions), [])
      })

      for (const [where, expected] of Object.entries(writes)) {
        it(`${expected ? 'may' : 'may not'} write for gateways in ${where}`, async () => {
          const questions = DEPLOYED.flatMap((what) =>
            APPLY.map((verb) => [namespace, verb, what, where]),
          )
          assert.deepEqual(await wrong(expected, questions), [])
        })
      }

      it('keeps its lease and its certificate in its own namespace', async () => {
        const own = [
          ['create', 'coordination.k8s.io/leases'],
          ['update', 'coordination.k8s.io/leases'],
          ['create', '/secrets'],
          ['create', 'events.k8s.io/events'],
        ]
        assert.deepEqual(
          await wrong(
            true,
            own.map((one) => [namespace, ...one, namespace]),
          ),
          [],
        )
        assert.equal(
          await mayI(namespace, 'patch', '/secrets', namespace, 'portcullis-xds-cert'),
          true,
        )
        assert.equal(
          await mayI(namespace, 'update', 'coordination.k8s.io/leases', 'elsewhere'),
          false,
        )
      })

      it('checks the tokens of proxies', async () => {
        assert.equal(await mayI(namespace, 'create', 'authentication.k8s.io/tokenreviews'), true)
      })

      it('has none of the forbidden permissions', async () => {
        const places = [undefined, 'elsewhere', 'team-a', namespace]
        const questions = NEVER.flatMap(([verb, what]) =>
          places.map((where) => [namespace, verb, what, where] as string[]),
        )
        assert.deepEqual(await wrong(false, questions), [])
      })
    })
  }

  it('a namespaced one cannot change foreign Secrets in its own namespace', async () => {
    assert.equal(await mayI('narrow', 'patch', '/secrets', 'narrow', 'other'), false)
    assert.equal(await mayI('narrow', 'delete', '/secrets', 'narrow', 'portcullis-xds-cert'), false)
  })

  it('without rbac.create it has no permissions', async () => {
    const questions = [...READABLE, ...DEPLOYED].flatMap((what) =>
      [...READ, ...WRITE].map((verb) => ['none', verb, what, 'none']),
    )
    assert.deepEqual(await wrong(false, questions), [])
  })

  it('extensions and the mesh are readable only if they are enabled', async () => {
    const on = [
      'inference.networking.k8s.io/inferencepools',
      '/pods',
      'gateway.networking.x-k8s.io/xbackends',
    ]
    assert.deepEqual(
      await wrong(
        true,
        on.flatMap((what) => READ.map((verb) => ['other', verb, what])),
      ),
      [],
    )
    const off = ['networking.istio.io/serviceentries', 'networking.istio.io/workloadentries']
    assert.deepEqual(
      await wrong(
        false,
        off.flatMap((what) => READ.map((verb) => ['other', verb, what])),
      ),
      [],
    )
  })

  it('a proxy of the standalone chart has no permissions', async () => {
    cluster.helm([
      'install',
      'portcullis',
      chartFolder('portcullis-standalone'),
      '--namespace',
      'elsewhere',
      // No node could run the validation.
      '--no-hooks',
    ])
    const questions = [...READABLE, ...DEPLOYED].flatMap((what) =>
      [...READ, ...WRITE].map((verb) => ['elsewhere', verb, what, 'elsewhere']),
    )
    assert.deepEqual(await wrong(false, questions), [])
  })

  it('kubectl auth can-i agrees', () => {
    const ask = (account: string, where: string) => {
      const args = ['auth', 'can-i', 'create', 'deployments.apps', '-n', where, '--quiet']
      try {
        cluster.kubectl([...args, '--as', `system:serviceaccount:${account}:portcullis`])
        return true
      } catch {
        return false
      }
    }
    assert.deepEqual(
      [
        ask('wide', 'elsewhere'),
        ask('narrow', 'team-a'),
        ask('narrow', 'elsewhere'),
        ask('none', 'none'),
      ],
      [true, true, false, false],
    )
  })

  it('helm uninstall leaves nothing behind', async () => {
    for (const namespace of ['wide', 'narrow', 'none', 'other']) {
      cluster.helm(['uninstall', 'portcullis', '--namespace', namespace])
    }
    const left = cluster.kubectl([
      'get',
      'clusterrole,clusterrolebinding,role,rolebinding,serviceaccount,service,deployment',
      '-A',
      '-l',
      'app.kubernetes.io/part-of=portcullis,app.kubernetes.io/name=portcullis',
      '-o',
      'name',
    ])
    assert.equal(left, '')
  })
})
