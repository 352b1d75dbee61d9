import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

/*
 * SecurityPolicies as their documentation describes them: rules are evaluated in order and the
 * first that matches decides, otherwise `defaultAction`, which is Deny by default; a policy of an
 * HTTPRoute replaces that of its Gateway; of two policies for one target, the older one applies.
 */

interface Rule {
  readonly action: 'Allow' | 'Deny'
  readonly clientCIDRs: readonly string[]
}

interface Policy {
  readonly defaultAction?: 'Allow' | 'Deny'
  readonly rules: readonly Rule[]
}

const CLIENTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.1.5']
const NETWORKS = [
  ...CLIENTS.map((one) => `${one}/32`),
  ...['127.0.0.0/30', '127.0.0.2/31', '127.0.0.0/24', '127.0.0.0/16', '0.0.0.0/0', '10.0.0.0/8'],
  ...['::1/128', '::/0'],
]

/** Plain arithmetic, without code of the gateway. */
function isIn(address: string, network: string): boolean {
  const [base = '', length = '32'] = network.split('/')
  if (base.includes(':')) return false
  const number = (text: string) =>
    text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const size = 2 ** (32 - Number(length))
  return Math.floor(number(address) / size) === Math.floor(number(base) / size)
}

function expected({ defaultAction, rules }: Policy, client: string): boolean {
  const first = rules.find(({ clientCIDRs }) => clientCIDRs.some((one) => isIn(client, one)))
  return (first?.action ?? defaultAction ?? 'Deny') === 'Allow'
}

const policies: fc.Arbitrary<Policy> = fc.record(
  {
    defaultAction: fc.constantFrom('Allow', 'Deny'),
    rules: fc.array(
      fc.record({
        action: fc.constantFrom('Allow', 'Deny'),
        clientCIDRs: fc.uniqueArray(fc.constantFrom(...NETWORKS), { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 4 },
    ),
  },
  { requiredKeys: ['rules'] },
)

const object = (apiVersion: string, kind: string, name: string, spec: object, more = {}) => ({
  ...{ apiVersion, kind, metadata: { name, namespace: 'shop', ...more }, spec },
})
const gatewayApi = 'gateway.networking.k8s.io/v1'
const envoy = 'gateway.envoyproxy.io/v1alpha1'
const target = (kind: string, name: string) => ({ group: 'gateway.networking.k8s.io', kind, name })
const security = (name: string, to: object, { rules, ...rest }: Policy, more = {}) =>
  object(
    envoy,
    'SecurityPolicy',
    name,
    {
      targetRefs: [to],
      authorization: {
        ...rest,
        rules: rules.map(({ action, clientCIDRs }) => ({ action, principal: { clientCIDRs } })),
      },
    },
    more,
  )

describe('convert from Envoy Gateway, by responses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'convert-envoy-'))
  const drawn = fc.sample(policies, { numRuns: 60, seed: 20_261_116 })
  const [onGateway, older, ...own] = drawn as [Policy, Policy, ...Policy[]]
  let port = 0
  let running: Deciding | undefined

  const route = (name: string) =>
    object(gatewayApi, 'HTTPRoute', name, {
      parentRefs: [{ name: 'edge' }],
      hostnames: [`${name}.test`],
      rules: [{ backendRefs: [{ name: 'nobody', port: 9 }] }],
    })

  async function status(host: string, localAddress: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { host, connection: 'close' }
      request({ host: '127.0.0.1', port, localAddress, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
        .on('error', reject)
        .end()
    })
  }

  const isAllowed = async (host: string, client: string) => {
    const found = await status(host, client)
    // There is no backend: an allowed request gets a gateway error.
    assert.ok([403, 502, 503, 504].includes(found), `${host} from ${client}: ${found}`)
    return found !== 403
  }

  before(async () => {
    port = await freePort()
    const names = own.map((_, index) => `r${index}`)
    const young = { creationTimestamp: '2026-02-01T00:00:00Z' }
    const old = { creationTimestamp: '2026-01-01T00:00:00Z' }
    const all = [
      // The order in the file has no effect.
      ...own.map((policy, index) =>
        security(`p${index}`, target('HTTPRoute', `r${index}`), policy),
      ),
      security('edge', target('Gateway', 'edge'), onGateway),
      security('a-young', target('HTTPRoute', 'twice'), onGateway, young),
      security('b-old', target('HTTPRoute', 'twice'), older, old),
      object(gatewayApi, 'Gateway', 'edge', {
        gatewayClassName: 'eg',
        listeners: [{ name: 'http', port, protocol: 'HTTP' }],
      }),
      ...[...names, 'plain', 'twice'].map(route),
    ]
    const file = join(folder, 'all.yaml')
    writeFileSync(file, all.map((one) => JSON.stringify(one)).join('\n---\n'))
    const output = join(folder, 'gateway.yaml')
    const { err } = await runWith(['convert', '--from', 'kubernetes', file, '-o', output])
    assert.match(err, /SecurityPolicy a-young: an older policy has the same target/)
    running = await startDeciding(readFileSync(output, 'utf8'))
  })

  after(async () => {
    await running?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('each route uses the policy that targets it', async () => {
    for (const [index, policy] of own.entries()) {
      for (const client of CLIENTS) {
        const found = await isAllowed(`r${index}.test`, client)
        assert.equal(found, expected(policy, client), `${client} ${JSON.stringify(policy)}`)
      }
    }
  })

  it('a route without a policy uses that of its Gateway, and a route with two uses the older one', async () => {
    for (const client of CLIENTS) {
      assert.equal(await isAllowed('plain.test', client), expected(onGateway, client), client)
      assert.equal(await isAllowed('twice.test', client), expected(older, client), client)
    }
  })
})

describe('settings of Envoy Gateway that are not understood are listed', () => {
  const base = (): Record<string, unknown>[] => [
    object(gatewayApi, 'Gateway', 'edge', {
      gatewayClassName: 'eg',
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
    }),
    object(gatewayApi, 'HTTPRoute', 'r', {
      parentRefs: [{ name: 'edge' }],
      rules: [{ backendRefs: [{ name: 'b', port: 9 }] }],
    }),
  ]
  const convert = async (objects: readonly object[]) => {
    const text = objects.map((one) => JSON.stringify(one)).join('\n---\n')
    const { out } = await runWith(['convert', '--from', 'kubernetes', '--json', '-'], {
      readInput: () => text,
    })
    return JSON.parse(out) as {
      configuration: { routes: { policies?: { authorization?: unknown } }[] }
      notCarriedOver: { what: string; why: string }[]
    }
  }

  const SPEC = {
    targetRefs: [target('HTTPRoute', 'r')],
    authorization: {
      defaultAction: 'Deny',
      rules: [{ name: 'a', action: 'Allow', principal: { clientCIDRs: ['10.0.0.0/8'] } }],
    },
    jwt: {
      optional: true,
      providers: [
        { name: 'p', issuer: 'https://a.test', remoteJWKS: { uri: 'https://a.test/keys' } },
      ],
    },
    cors: { allowOrigins: ['https://a.test'], allowMethods: ['GET'], maxAge: '1h' },
  }

  it('none in the sample', async () => {
    const { notCarriedOver } = await convert([
      ...base(),
      object(envoy, 'SecurityPolicy', 's', SPEC),
    ])
    assert.deepEqual(notCarriedOver, [])
  })

  /** Every object within, by its path. */
  function* objectsIn(
    value: unknown,
    path: readonly (string | number)[] = [],
  ): Generator<typeof path> {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value)) yield path
    for (const [key, member] of Object.entries(value)) {
      yield* objectsIn(member, [...path, Array.isArray(value) ? Number(key) : key])
    }
  }

  for (const path of objectsIn(SPEC)) {
    // A target reference has no other settings.
    if (path[0] === 'targetRefs') continue
    it(`a key that nobody knows at ${path.join('.') || 'the top'}`, async () => {
      const spec = structuredClone(SPEC) as Record<string, unknown>
      let at: Record<string, unknown> = spec
      for (const step of path) at = at[step] as Record<string, unknown>
      at['somethingNew'] = 1
      const { notCarriedOver, configuration } = await convert([
        ...base(),
        object(envoy, 'SecurityPolicy', 's', spec),
      ])
      assert.notEqual(notCarriedOver.length, 0)
      const denied = { rules: [{ deny: 'true' }] }
      const isDenied = configuration.routes.every(({ policies }) => {
        return JSON.stringify(policies?.authorization) === JSON.stringify(denied)
      })
      assert.equal(isDenied, path[0] !== 'cors', JSON.stringify(configuration.routes))
    })
  }

  for (const [kind, spec] of [
    [
      'SecurityPolicy',
      { ...SPEC, targetRefs: undefined, targetSelectors: [{ kind: 'HTTPRoute' }] },
    ],
    ['SecurityPolicy', { ...SPEC, targetRefs: [target('TCPRoute', 'r')] }],
    [
      'ClientTrafficPolicy',
      { targetRefs: [target('Gateway', 'edge')], tls: { clientValidation: {} } },
    ],
    ['EnvoyExtensionPolicy', { targetRefs: [target('HTTPRoute', 'r')], extProc: [] }],
    ['EnvoyPatchPolicy', { targetRef: target('Gateway', 'edge'), jsonPatches: [] }],
  ] as const) {
    it(`a ${kind} that may guard denies: ${Object.keys(spec).join(', ')}`, async () => {
      const { notCarriedOver, configuration } = await convert([
        ...base(),
        object(envoy, kind, 'p', spec),
      ])
      assert.match(JSON.stringify(notCarriedOver), new RegExp(`${kind} p.*deny all requests until`))
      for (const { policies } of configuration.routes) {
        assert.deepEqual(policies?.authorization, { rules: [{ deny: 'true' }] })
      }
    })
  }
})
