import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Json, Tree } from './document.ts'
import { World } from './gateways.ts'
import { settings } from './generate.ts'
import { type CheckName, judgeTrees } from './judge.ts'
import { runTools, type Said, type Tools } from './tools.ts'

/**
 * Pairs of files about which a command once made a false statement, with that statement. Probes
 * made only from the files must find each of them, whatever the commands report today.
 */

const MAX_SEEDS = 12

const said = (value: unknown, code = 0): Said => ({ code, out: JSON.stringify(value), err: '' })
const PROVEN: Tools = async () => said({ differences: [], untold: [] })
const UNCHANGED: Tools = async () =>
  said({ requests: 1, unchanged: 1, changed: [], unknown: [], disagreeing: 0 })

const nothingPasses =
  (route: string): Tools =>
  async () => {
    const message = `no request is admitted at route ${route}: its rules together deny every request`
    return said({
      diagnostics: [{ code: 'AZ010', severity: 'error', message, origin: { line: 1 } }],
    })
  }

const protectedAs =
  (protection: string): Tools =>
  async (args) => {
    const { listeners } = JSON.parse((await runTools(args)).out)
    for (const { routes } of listeners) for (const route of routes) route.protection = protection
    return said({ listeners })
  }

type Rules = readonly Readonly<Record<string, string>>[]

interface Written {
  readonly gateway?: Tree
  readonly rules?: Rules
  readonly policies?: Tree
  readonly route?: Tree
  readonly more?: readonly Tree[]
  readonly top?: Tree
}

const TOKEN = { jwtAuthentication: { issuer: 'https://i.test', jwks: { file: 'keys.json' } } }

let world: World

function file({
  gateway = {},
  rules = [],
  policies = {},
  route = {},
  more = [],
  top = {},
}: Written): Tree {
  const { ports, backends } = world.place
  const own: Record<string, Json> = { ...policies }
  if (rules.length > 0) own['authorization'] = { rules: [...rules] }
  const backend = (index: number) => [{ host: `127.0.0.1:${backends[index]}` }]
  const first = {
    name: 'r0',
    ...route,
    ...(Object.keys(own).length === 0 ? {} : { policies: own }),
    backends: backend(0),
  }
  const others = more.map((one, index) => ({
    name: `r${index + 1}`,
    ...one,
    backends: backend(index + 1),
  }))
  return {
    config: settings([]),
    ...top,
    gateways: { default: { port: ports[0] as number, ...gateway } },
    routes: [first, ...others],
  }
}

const issuedBy = (issuer: string, rules: Rules, mode = 'Permissive'): Written => ({
  policies: { jwtAuthentication: { mode, issuer, jwks: { file: 'keys.json' } } },
  rules,
})
const ofToken = (rules: Rules): Written => ({ rules, policies: TOKEN })
const host = (name: string, rules: Rules = []): Tree => ({
  hostnames: [name],
  ...(rules.length === 0 ? {} : { policies: { authorization: { rules: [...rules] } } }),
})
const TLS = { cert: 'server.pem', key: 'server.key' }
const secured = (more: Tree): Written => ({ gateway: { tls: { ...TLS, ...more } } })
const proxied = (mode: string): Written => ({
  top: { frontendPolicies: { proxyProtocol: { mode, version: 'All' } } },
})
const BANNED = "'roles' in jwt.realm_access && 'banned' in jwt.realm_access.roles"

/** Never true; the only relevant part is that it reads an attribute. */
const READING = "request.headers['x-a'] == '1' && request.headers['x-a'] == '2'"
const TWICE = "json(request.body).model == 'a'"
const OFTEN = "!request.path.endsWith('/c')"
const KEEPING = { top: { frontendPolicies: { http: { maxBufferSize: 32 } } } }

/** Effects of rules besides their verdicts. */
const READ: readonly (readonly [string, Written, Written])[] = [
  ['a rule that is never true begins to read a header', {}, { rules: [{ deny: READING }] }],
  ['no rule reads a header any more', { rules: [{ deny: READING }] }, {}],
  [
    'a condition on a body that cannot be read comes first',
    { rules: [{ deny: `!(${OFTEN}) && ${TWICE}` }] },
    { rules: [{ deny: `${TWICE} && !(${OFTEN})` }] },
  ],
  [
    'the same with ||',
    { rules: [{ require: `${OFTEN} || ${TWICE}` }] },
    { rules: [{ require: `${TWICE} || ${OFTEN}` }] },
  ],
  [
    'a rule that is always true begins to read bodies',
    KEEPING,
    { ...KEEPING, rules: [{ require: 'has(request.body) || !has(request.body)' }] },
  ],
]

const PAIRS: readonly (readonly [string, Written, Written])[] = [
  ...READ,
  [
    'a Deny rule of the second of two routes without matches goes',
    {
      route: host('a.test'),
      more: [
        host('b.test', [{ deny: "request.host == 'b.test' && request.path.startsWith('/admin')" }]),
      ],
    },
    { route: host('a.test'), more: [host('b.test')] },
  ],
  [
    'an open route gets another name',
    { route: host('a.test', [{ deny: "request.method == 'GET'" }]), more: [host('b.test')] },
    { route: host('a.test', [{ deny: "request.method == 'GET'" }]), more: [host('c.a.test')] },
  ],
  [
    'client certificates become optional',
    secured({ root: 'ca.pem' }),
    secured({ root: 'ca.pem', clientCertificates: 'Optional' }),
  ],
  ['client certificates are not asked for any more', secured({ root: 'ca.pem' }), secured({})],
  ['HTTPS becomes HTTP', secured({}), {}],
  ['PROXY headers become optional', proxied('Strict'), proxied('Optional')],
  ['a Deny rule on a role goes', ofToken([{ deny: BANNED }]), ofToken([])],
  [
    "a Deny rule on an object's keys goes",
    ofToken([{ deny: "jwt.o.exists(k, k == 'x') && has(jwt.o.x)" }]),
    ofToken([]),
  ],
  [
    'a bound moves by a fraction',
    ofToken([{ deny: 'jwt.risk > 0.5' }]),
    ofToken([{ deny: 'jwt.risk >= 0.9' }]),
  ],
  [
    'a Deny rule between fractions goes',
    ofToken([{ deny: 'jwt.score > 0.5 && jwt.score < 0.9' }]),
    ofToken([]),
  ],
  [
    'a Deny rule between big numbers goes',
    ofToken([{ deny: 'jwt.n > 1e300 && jwt.n < 1.1e300' }]),
    ofToken([]),
  ],
  ['a Deny rule on the empty host goes', { rules: [{ deny: "request.host == ''" }] }, {}],
  [
    'a Deny rule on the header host goes',
    { rules: [{ deny: "request.headers['host'] == 'a.test'" }] },
    {},
  ],
]

const GUARDS = [
  "request.path.startsWith('/')",
  'has(request.path)',
  "'x-a' in request.headers || !('x-a' in request.headers)",
  'request.host == request.host',
]

interface Case {
  readonly name: string
  readonly check: CheckName
  readonly kind: string
  readonly tools: Tools
  readonly old: Written
  readonly now?: Written
}

const CASES: readonly Case[] = [
  ...PAIRS.map(
    ([name, old, now]): Case => ({
      name,
      check: 'diff',
      kind: 'diff proof',
      tools: PROVEN,
      old,
      now,
    }),
  ),
  {
    name: 'nothing is said to pass where roles are guarded',
    check: 'lint',
    kind: 'lint nothing can pass',
    tools: nothingPasses('r0'),
    old: ofToken([
      { require: "'roles' in jwt.realm_access" },
      { allow: "'admin' in jwt.realm_access.roles" },
    ]),
  },
  {
    name: 'nothing is said to pass a listener for the rules of another',
    check: 'lint',
    kind: 'lint nothing can pass',
    tools: nothingPasses('r0'),
    old: {
      gateway: {
        listeners: [
          { name: 'l0', hostname: 'a.test' },
          {
            name: 'l1',
            hostname: 'b.test',
            authorization: { rules: [{ require: "request.path == '/only'" }] },
          },
        ],
      },
      route: { hostnames: ['a.test'] },
      rules: [{ allow: "request.path == '/a'" }],
    },
  },
  {
    name: 'a record does not tell no token from no claim',
    check: 'replay',
    kind: 'replay unchanged',
    tools: UNCHANGED,
    old: {
      policies: { jwtAuthentication: { mode: 'Optional', ...TOKEN.jwtAuthentication } },
      rules: [{ require: '!has(jwt.sub)' }],
    },
    now: {
      policies: { jwtAuthentication: { mode: 'Optional', ...TOKEN.jwtAuthentication } },
      rules: [{ deny: '!has(jwt.sub)' }],
    },
  },
  ...GUARDS.map(
    (rule): Case => ({
      name: `\`${rule}\` guards nothing`,
      check: 'effective',
      kind: 'effective guarded',
      tools: protectedAs('guarded'),
      old: { rules: [{ require: rule }] },
    }),
  ),
  {
    name: 'certificates that are required guard a route',
    check: 'effective',
    kind: 'effective unprotected',
    tools: protectedAs('unprotected'),
    old: secured({ root: 'ca.pem' }),
  },
  {
    name: 'rules that deny by one of two hostnames deny something',
    check: 'effective',
    kind: 'effective unprotected',
    tools: protectedAs('unprotected'),
    old: {
      route: { hostnames: ['x.b.test', '*.test'] },
      rules: [{ allow: "request.host != 'b.test'" }],
    },
  },
  {
    name: 'nobody passes without a certificate that is required',
    check: 'explain',
    kind: 'explain',
    tools: async () => said({}),
    old: secured({ root: 'ca.pem' }),
  },
]

const ofCertificates = (rules: Rules): Written => ({
  gateway: { listeners: [{ name: 'l0', hostname: 'b.test', tls: TLS }] },
  top: rules.length === 0 ? {} : { frontendPolicies: { networkAuthorization: { rules } } },
})

const ROUTELESS: Written = {
  gateway: { listeners: [{ name: 'l0' }, { name: 'l1', hostname: 'b.test' }] },
  route: { gateways: ['default/l1'] },
}

/** The current statements about files for which commands once made false ones. */
const TRUE: readonly Pick<Case, 'name' | 'check' | 'old' | 'now'>[] = [
  ...READ.flatMap(([name, old, now]) => [
    { name, check: 'diff' as const, old, now },
    { name: `--fix: ${name}`, check: 'fix' as const, old, now },
  ]),
  {
    // The record of a connection that is closed because of its source has no server name.
    name: 'whether a name is served is not for rules about connections to say',
    check: 'replay',
    old: ofCertificates([{ require: "'spiffe://td.test/ns/a' in source.subjectAltNames" }]),
    now: ofCertificates([]),
  },
  {
    name: 'a connection to a listener that no route is for',
    check: 'replay',
    old: {
      ...ROUTELESS,
      top: { frontendPolicies: { networkAuthorization: { rules: [{ deny: 'true' }] } } },
    },
    now: ROUTELESS,
  },
  {
    name: 'a certificate that is required, and one that is not shown',
    check: 'explain',
    old: secured({ root: 'ca.pem' }),
  },
  {
    name: 'no token is of two issuers, one of which each file takes',
    check: 'diff',
    old: issuedBy('https://i.test', [{ allow: "'/a/' == request.path" }], 'Strict'),
    now: issuedBy('https://j.test', [{ allow: "jwt.groups == ''" }]),
  },
  {
    name: 'claims of another issuer, where tokens are not required',
    check: 'explain',
    old: issuedBy('https://j.test', [{ allow: "jwt['sub'] != 'carol'" }]),
  },
  {
    name: 'a service that is called by condition, and cannot be reached',
    check: 'effective',
    old: {
      policies: {
        extAuthz: {
          conditional: [
            { condition: "request.headers['x-b'].startsWith('')", host: '127.0.0.1:9' },
          ],
        },
      },
    },
  },
  {
    name: 'a service that admits everyone while it cannot be reached',
    check: 'effective',
    old: { policies: { extAuthz: { host: '127.0.0.1:9', failureMode: 'Allow' } } },
  },
  {
    name: 'rules that deny by one of two hostnames',
    check: 'effective',
    old: {
      route: { hostnames: ['x.b.test', '*.test'] },
      rules: [{ allow: "request.host != 'b.test'" }],
    },
  },
]
const SOME_SEEDS = 2

describe('every former false statement is found', () => {
  before(async () => {
    world = await World.open()
  })
  after(() => world.close())

  for (const { name, check, kind, tools, old, now = old } of CASES) {
    it(name, async () => {
      const trees = { old: file(old), now: file(now) }
      for (let seed = 0; seed < MAX_SEEDS; seed++) {
        const options = { world, tools, count: () => {}, only: [check] }
        const { claims, unserved } = await judgeTrees(seed, trees, options)
        assert.equal(unserved, undefined)
        if (claims.some((one) => one.kind === kind)) return
      }
      assert.fail(`not found with ${MAX_SEEDS} seeds`)
    })
  }

  for (const { name, check, old, now = old } of TRUE) {
    it(`nothing false is said today: ${name}`, async () => {
      const trees = { old: file(old), now: file(now) }
      for (let seed = 0; seed < SOME_SEEDS; seed++) {
        const options = { world, tools: runTools, count: () => {}, only: [check] }
        const { claims, unserved } = await judgeTrees(seed, trees, options)
        assert.equal(unserved, undefined)
        assert.deepEqual(claims, [])
      }
    })
  }
})
