import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  decide,
  hostBackend,
  modelOf,
  outcome,
  policies,
  programOf,
  TestServices,
  type WrittenModel,
} from '../../test/program/models.ts'
import type { Backend } from '../model/backend.ts'
import { compileProgram, compileProgramCooperatively, retiredClusters } from './compile.ts'
import type { Program } from './program.ts'

const path = (value: string) => [{ path: { kind: 'prefix', value } }] as const
const set = (value: string) => ({ requestHeaders: { set: { x: value } } })

async function header(program: Program, url = '/') {
  const { exchange } = await decide(program, { url })
  return exchange.requestEdit.added.map(([, value]) => value).join(' ')
}

describe('policies of several levels', () => {
  const listener = policies(set('listener'), 'listener')
  for (const [what, written, expected] of [
    ['the gateway alone', { gateway: set('gateway') }, 'gateway'],
    [
      'a listener replaces its gateway',
      { gateway: set('gateway'), listeners: [{ policies: listener }] },
      'listener',
    ],
    [
      'a route replaces both',
      {
        gateway: set('gateway'),
        listeners: [{ policies: listener }],
        routes: [{ policies: set('route') }],
      },
      'route',
    ],
    [
      'kinds are replaced one by one',
      { gateway: set('gateway'), routes: [{ policies: { timeout: { request: '1s' } } }] },
      'gateway',
    ],
    [
      'the first of one level holds',
      { routes: [{ policies: [...policies(set('first')), ...policies(set('second'))] }] },
      'first',
    ],
    [
      'a valid one stands in for an invalid one of a wider level',
      { gateway: { requestHeaders: null }, routes: [{ policies: set('route') }] },
      'route',
    ],
  ] as readonly (readonly [string, WrittenModel, string])[]) {
    it(what, async () => assert.equal(await header(programOf(written)), expected))
  }

  it('a backend policy replaces that of the route, and the reference replaces both', async () => {
    const at = (value: string) => policies(set(value), 'backend', 'backend')
    const backend = hostBackend('up', at('backend'))
    const route = { policies: at('route') }
    assert.equal(await header(programOf({ routes: [route] })), 'route')
    assert.equal(await header(programOf({ routes: [route], backends: [backend] })), 'backend')
    const ref = { backend: 'up', policies: at('reference') }
    const all = programOf({ routes: [{ ...route, backends: [ref] }], backends: [backend] })
    assert.equal(await header(all), 'reference')
  })
})

describe('policies of a cluster', () => {
  it('are those that apply to the backend on this route', () => {
    const services = new TestServices()
    const at = (algorithm: string) =>
      policies({ loadBalancer: { algorithm } }, 'backend', 'backend')
    const backend = hostBackend('up', at('RoundRobin'))
    const routes = [{}, { backends: [{ backend: 'up', policies: at('LeastRequest') }] }]
    programOf({ routes, backends: [backend] }, services)
    assert.deepEqual(services.reached, [
      { loadBalancer: { algorithm: 'RoundRobin' } },
      { loadBalancer: { algorithm: 'LeastRequest' } },
    ])
  })
})

describe('invalid parts fail closed, and the rest serves', () => {
  const invalid: Backend = {
    kind: 'invalid',
    name: 'broken',
    origin: { kind: 'object', object: 'test', field: '' },
    policies: [],
    diagnostics: [],
  }
  const program = programOf({
    backends: [invalid],
    routes: [
      { matches: path('/invalid'), isInvalid: true },
      { matches: path('/redirect'), isInvalid: true, policies: { requestRedirect: {} } },
      { matches: path('/none'), backends: [] },
      { matches: path('/zero'), backends: [{ backend: 'up', weight: 0 }] },
      { matches: path('/missing'), backends: ['missing'] },
      { matches: path('/broken'), backends: ['broken'] },
      {
        matches: path('/unenforced'),
        policies: policies({ healthCheck: null }, 'route', 'traffic'),
      },
      { matches: path('/responds'), backends: [], policies: { directResponse: { status: 204 } } },
      { matches: path('/fine') },
    ],
  })
  for (const [url, expected] of [
    ['/invalid', '500 invalid-configuration'],
    ['/redirect', '500 invalid-configuration'],
    ['/none', '500 no-backend'],
    ['/zero', '500 no-backend'],
    ['/missing', '500 invalid-backend'],
    ['/broken', '500 invalid-backend'],
    ['/unenforced', '500 invalid-policy'],
    ['/responds', '204 direct-response'],
    ['/fine', 'up'],
    ['/elsewhere', '404 no-route'],
  ] as const) {
    it(`${url}: ${expected}`, async () => assert.equal(await outcome(program, { url }), expected))
  }

  it('a policy that cannot be enforced denies, and is reported', async () => {
    const tools = policies({ mcpAuthorization: null }, 'route', 'backend')[0]
    const valid = { ...tools, state: 'valid', value: {} } as never
    const program = programOf({ routes: [{ policies: [valid] }] })
    assert.equal(await outcome(program), '500 invalid-policy')
    assert.deepEqual(
      program.diagnostics.map(({ code }) => code),
      ['PC0219'],
    )
  })
})

describe('backends are chosen by weight', () => {
  const shares = async (backends: readonly (readonly [string, number])[]) => {
    const services = new TestServices()
    const refs = backends.map(([backend, weight]) => ({ backend, weight }))
    const program = programOf({ routes: [{ backends: refs }] }, services)
    const seen: Record<string, number> = {}
    for (let i = 0; i < 1000; i++) {
      services.dice = i / 1000
      const chosen = await outcome(program)
      seen[chosen] = (seen[chosen] ?? 0) + 1
    }
    return seen
  }
  for (const [backends, expected] of [
    [[['a', 1]], { a: 1000 }],
    [
      [
        ['a', 1],
        ['b', 1],
      ],
      { a: 500, b: 500 },
    ],
    [
      [
        ['a', 9],
        ['b', 1],
      ],
      { a: 900, b: 100 },
    ],
    [
      [
        ['a', 1],
        ['b', 0],
      ],
      { a: 1000 },
    ],
    [
      [
        ['a', 1],
        ['missing', 1],
      ],
      { a: 500, '500 invalid-backend': 500 },
    ],
    [
      [
        ['a', 1],
        ['missing', 0],
      ],
      { a: 1000 },
    ],
  ] as const) {
    it(JSON.stringify(backends), async () => assert.deepEqual(await shares(backends), expected))
  }
})

describe('listeners', () => {
  it('serve attached routes with matching hostnames', async () => {
    const program = programOf({
      listeners: [{ hostname: '*.example.com' }, { name: 'other' }, { protocol: 'TCP' }],
      routes: [
        { matches: path('/a'), hostnames: ['a.example.com', 'a.org'] },
        { matches: path('/b'), listener: 'other' },
      ],
    })
    const at = (host: string, url: string, listener: number) =>
      outcome(program, { host, url }, listener)
    assert.equal(await at('a.example.com', '/a', 0), 'up')
    assert.equal(await at('a.org', '/a', 0), '404 no-route')
    assert.equal(await at('a.org', '/a', 1), 'up')
    assert.equal(await at('a.example.com', '/b', 0), '404 no-route')
    assert.equal(await at('a.example.com', '/b', 1), 'up')
    assert.equal(await at('a.example.com', '/a', 2), '404 no-route')
  })

  it('expose the place of the request to expressions', async () => {
    const authorization = { rules: ["proxy.gateway == 'default' && proxy.route == 'here'"] }
    const program = programOf({
      gateway: { authorization },
      routes: [{ name: 'here', matches: path('/a') }],
    })
    assert.equal(await outcome(program, { url: '/a' }), 'up')
    assert.equal(await outcome(program, { url: '/b' }), '403 authorization')
  })

  it('detect whether the body must be read first', async () => {
    const reads = async (written: WrittenModel) =>
      (await decide(programOf(written))).route.readsBody
    const rule = (text: string) => ({ authorization: { rules: [{ deny: text }] } })
    assert.equal(await reads({}), false)
    assert.equal(await reads({ gateway: rule("request.path == '/body'") }), false)
    assert.equal(await reads({ gateway: rule('size(request.body) > 5') }), true)
    assert.equal(await reads({ gateway: rule("request['b\\x6fdy'] == b'x'") }), true)
    const backend = hostBackend(
      'up',
      policies(rule('size(request.body) > 5'), 'backend', 'backend'),
    )
    assert.equal(await reads({ backends: [backend] }), true)
  })
})

describe('network authorization', () => {
  const deny = (text: string) => ({ networkAuthorization: { rules: [{ deny: text }] } })
  const at = async (written: WrittenModel, address = '10.0.0.7') => {
    const program = programOf(written)
    const { connection } = (await decide(program, { address })).exchange
    const { network } = program.listeners[0] ?? assert.fail()
    return [network?.readsHostname, network && network.decide(connection) === undefined]
  }
  const local = "cidr('10.0.0.0/8').containsIP(source.address)"
  for (const [what, written, expected] of [
    ['no rules', {}, [undefined, undefined]],
    ['a Deny for all gateways', { frontend: deny(local) }, [false, false]],
    ['one that does not match', { frontend: deny(`!${local}`) }, [false, true]],
    [
      'that of the gateway beside it',
      { frontend: deny('false'), gateway: deny(local) },
      [false, false],
    ],
    [
      'one that reads the server name',
      { frontend: deny("destination.hostname == 'a'") },
      [true, true],
    ],
    ['an invalid one', { frontend: { networkAuthorization: null } }, [false, false]],
    ['an error', { frontend: deny('request.path == 1') }, [false, false]],
  ] as const) {
    it(what, async () => assert.deepEqual(await at(written as WrittenModel), expected))
  }
})

describe('a reload', () => {
  const routes = (...backends: string[]) =>
    modelOf({ routes: backends.map((name) => ({ matches: path(`/${name}`), backends: [name] })) })

  it('keeps the clusters that did not change, and returns the unused ones', () => {
    const services = new TestServices()
    const first = compileProgram(routes('a', 'b'), undefined, services)
    const second = compileProgram(routes('b', 'c'), first, services)
    assert.deepEqual(services.opened, ['a', 'b', 'c'])
    assert.deepEqual(
      retiredClusters(first, second).map(({ name }) => name),
      ['a'],
    )
    assert.deepEqual(retiredClusters(second, second), [])
  })

  it('opens another cluster if one of its policies changed', () => {
    const services = new TestServices()
    const model = (value: object) =>
      modelOf({ routes: [{ policies: policies({ loadBalancer: value }, 'route', 'backend') }] })
    const first = compileProgram(model({ algorithm: 'RoundRobin' }), undefined, services)
    const same = compileProgram(model({ algorithm: 'RoundRobin' }), first, services)
    const other = compileProgram(model({ algorithm: 'LeastRequest' }), same, services)
    assert.equal(retiredClusters(first, same).length, 0)
    assert.equal(retiredClusters(same, other).length, 1)
  })

  it('opens one cluster for a backend of many routes', () => {
    const services = new TestServices()
    programOf({ routes: Array.from({ length: 50 }, () => ({})), listeners: [{}, {}] }, services)
    assert.deepEqual(services.opened, ['up'])
  })

  it('compiles to the same Program cooperatively', async () => {
    const services = new TestServices()
    services.now = () => (services.time += 5)
    const program = await compileProgramCooperatively(routes('a', 'b', 'c'), undefined, services)
    assert.equal(await outcome(program, { url: '/c' }), 'c')
    assert.equal(program.listeners.length, 1)
  })
})

describe('an invalid connection policy', () => {
  const closed = (written: Parameters<typeof programOf>[0]) =>
    programOf(written).listeners.map(({ isClosed }) => isClosed)

  it('closes the listeners that it applies to', () => {
    assert.deepEqual(closed({ gateway: { frontendHttp: null } }), [true])
    assert.deepEqual(closed({ frontend: { networkAuthorization: null } }), [true])
    assert.deepEqual(closed({ gateway: { accessLog: null } }), [false])
  })

  it('closes nothing if a more specific one applies', () => {
    const written = { frontend: { frontendHttp: null }, gateway: { frontendHttp: {} } }
    assert.deepEqual(closed(written), [false])
  })
})

describe('a policy with a secret that has no text', () => {
  const USERS = ['bob:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=']
  for (const [what, written] of [
    ['users', { basicAuth: { users: USERS } }],
    [
      'users among other ways to sign in',
      { authentication: { anyOf: [{ basicAuth: { users: USERS } }] } },
    ],
    ['a key for the backend', { backendAuth: { key: 'robot' } }],
  ] as const) {
    it(`fails closed and says why: ${what}`, async () => {
      const model = modelOf({ routes: [{ policies: written }] })
      const services = new TestServices()
      const known = compileProgram(model, undefined, services)
      assert.deepEqual(known.diagnostics, [])
      // A copy has none, like a Model that was dumped and read again.
      const copy = compileProgram(JSON.parse(JSON.stringify(model)), undefined, services)
      assert.deepEqual(
        copy.diagnostics.map(({ code, severity }) => `${code} ${severity}`),
        ['PC0505 error'],
      )
      const { exchange, reply } = await decide(copy, {
        url: '/',
        headers: { authorization: `Basic ${btoa('bob:bob')}` },
      })
      assert.equal(reply?.status, 500)
      const [decision] = exchange.decisions
      assert.equal(decision?.cause, 'invalid-policy')
      assert.match(decision?.failure?.reason ?? '', /^PC0505: /)
    })
  }
})
