import type { Json, Tree } from './document.ts'
import type { Place } from './generate.ts'
import { settings } from './generate.ts'
import type { Request } from './wire.ts'

/*
 * Pairs made by hand to provoke false proofs, in forms that are not drawn at random. Each differs
 * in the first of its requests, unless it declares otherwise.
 */

export interface Side {
  readonly rules?: readonly Readonly<Record<string, string>>[]
  readonly policies?: Tree
  readonly route?: Tree
  readonly more?: readonly Tree[]
  readonly top?: Tree
}

export interface Attack {
  readonly name: string
  readonly old: Side
  readonly now: Side
  readonly requests: readonly Partial<Request>[]
  /** Nothing changes, and none of its requests may show a difference. */
  readonly isSame?: true
}

const TOKEN: Tree = { jwtAuthentication: { issuer: 'https://i.test', jwks: { file: 'keys.json' } } }
const OTHER_TOKEN: Tree = {
  jwtAuthentication: { mode: 'Optional', issuer: 'https://j.test', jwks: { file: 'keys.json' } },
}
const ANY_OF: Tree = { authentication: { mode: 'Optional', anyOf: [TOKEN] } }
const SMALL: Tree = { frontendPolicies: { http: { maxBufferSize: 32 } } }
const LONG_BODY: Partial<Request> = { method: 'POST', body: 'y'.repeat(60) }

/** Removes a Deny rule on claims, and sends a request with such claims. */
const ofClaims = (deny: string, claims: string): Attack => ({
  name: deny,
  old: { policies: TOKEN, rules: [{ deny }] },
  now: { policies: TOKEN },
  requests: [{ claims }],
})

const CLAIMS: readonly (readonly [deny: string, claims: string])[] = [
  ["jwt.sub.matches('(?i)^k$') && !(jwt.sub in ['k', 'K'])", '{"sub":"\u212a"}'],
  ["!jwt.sub.matches('^.*$')", '{"sub":"a\\nb"}'],
  ["jwt.sub.matches('(?m)^b$') && jwt.sub != 'b'", '{"sub":"a\\nb"}'],
  ["jwt.sub.matches('^[^a-z]+$') && !jwt.sub.matches('^[A-Z0-9]+$')", '{"sub":"é"}'],
  ["jwt.sub.matches('\\\\s') && !jwt.sub.contains(' ')", '{"sub":"a\\tb"}'],
  ["jwt.sub.startsWith('aba') && jwt.sub.endsWith('aba') && size(jwt.sub) < 6", '{"sub":"ababa"}'],
  ['size(jwt.sub) > 1.5 && size(jwt.sub) < 2.5', '{"sub":"ab"}'],
  ["size(jwt.g) == 3 && jwt.g.all(x, x == 'a')", '{"g":["a","a","a"]}'],
  ['jwt.g == [null]', '{"g":[null]}'],
  ['true in jwt.g && 1 in jwt.g', '{"g":[true,1]}'],
  ["'__proto__' in jwt.g", '{"g":{"__proto__":1}}'],
  ['has(jwt.constructor)', '{"constructor":1}'],
  ["jwt.o.exists(k, k != 'a') && 'a' in jwt.o", '{"o":{"a":1,"b":2}}'],
  ['jwt.n == 0 && !(jwt.n > 0) && !(jwt.n < 0)', '{"n":-0.0}'],
  ['jwt.n > 9007199254740992 && jwt.n < 9007199254740994', '{"n":9007199254740993}'],
  ['jwt.n > 1e308', '{"n":1e400}'],
  ['jwt.n > 9223372036854775807', '{"n":9223372036854775808}'],
  ['jwt.n != 0.1 && jwt.n >= 0.1 && jwt.n < 0.100000000000001', '{"n":0.1000000000000001}'],
  ["default(jwt.sub, 'x') == 'x'", '{"sub":null}'],
  ["coalesce(jwt.a.b, jwt.b) == 'q' && !has(jwt.a)", '{"b":"q"}'],
  ["jwt.?a.?b.orValue('n') == 'n' && !has(jwt.a)", '{}'],
  ['jwt.?a.optMap(v, v == 1).orValue(true) && !has(jwt.a)', '{}'],
  ["!(jwt.sub.with(s, s == 'a')) || !has(jwt.sub)", '{}'],
  ['cel.bind(x, jwt.sub, true) && !has(jwt.sub)', '{}'],
  ["size(jwt.filterKeys(k, k.startsWith('a'))) == 0", '{"b":1}'],
  ["string(jwt.a == 1 || jwt.b == 2) == 'true' && !has(jwt.a)", '{"b":2}'],
  ["{'a': 1, 'b': 2}[jwt.sub] == 2", '{"sub":"b"}'],
  [
    "jwt.scope.split(',').exists(s, s in ['read']) && jwt.scope.contains(' ')",
    '{"scope":"a b,read"}',
  ],
  ["timestamp(jwt.t) < timestamp('2026-01-01T00:00:00Z')", '{"t":"2025-01-01T00:00:00Z"}'],
  ["duration(jwt.t) > duration('1h')", '{"t":"2h"}'],
  ['jwt.exp > 3999999999', '{}'],
  ['jwt.a == jwt.b', '{"a":1,"b":1}'],
]

const NINE = (last: string) =>
  `['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h', '${last}'].exists(p, request.path.startsWith(p))`
const NINETY = (last: string) => `request.headers['x-a'].lowerAscii() == '${'x'.repeat(90)}${last}'`

/** Policies that buffer the body, under various names. */
const KEEPING: readonly Tree[] = [
  'string(request.body)',
  'string(request            .body)',
  'string(request // as it came\n.body)',
  'request.with(r, string(r.body))',
  'cel.bind(r, request, string(r.body))',
  'toJson(request)',
].map((text) => ({ transformations: { request: { set: { 'x-kept': text } } } }))

const path = (kind: string, value: string): Tree => ({ path: { [kind]: value } })
const header = (value: Json): Tree => ({ headers: [{ name: 'x-a', value }] })
const query = (value: Json): Tree => ({ query: [{ name: 'q', value }] })

/**
 * Removes a Deny rule of the first of two routes: their matches decide which route gets the
 * request.
 */
const ROUTES: readonly (readonly [name: string, first: Tree, second: Tree, Partial<Request>])[] = [
  [
    'a prefix before a pattern',
    path('pathPrefix', '/a'),
    path('regex', '/a/.*'),
    { target: '/a/b' },
  ],
  ['two patterns', path('regex', '/a.*'), path('regex', '/ab.*'), { target: '/ab' }],
  [
    'a header by pattern',
    header({ regex: '[0-9]+' }),
    header({ exact: '1' }),
    { headers: [['x-a', '22']] },
  ],
  [
    'a header in any case',
    header({ regex: '(?i)gold' }),
    path('pathPrefix', '/'),
    { headers: [['x-a', 'GOLD']] },
  ],
  [
    'a header that is repeated',
    header({ exact: '1, 2' }),
    path('pathPrefix', '/'),
    {
      headers: [
        ['x-a', '1'],
        ['x-a', '2'],
      ],
    },
  ],
  ['an empty header', header({ exact: '' }), path('pathPrefix', '/'), { headers: [['x-a', '']] }],
  ['a parameter by pattern', query({ regex: 'a+' }), query({ exact: 'a' }), { target: '/?q=%61a' }],
  [
    'a parameter with a blank',
    query({ exact: 'a b' }),
    path('pathPrefix', '/'),
    { target: '/?%71=a+b' },
  ],
  [
    'a method before a header',
    { method: 'GET' },
    header({ exact: '1' }),
    { headers: [['x-a', '1']] },
  ],
  [
    'a path with escapes',
    path('exact', '/caf%c3%a9'),
    path('pathPrefix', '/'),
    { target: '/caf%C3%A9' },
  ],
  ['a prefix with a slash', path('pathPrefix', '/a/'), path('pathPrefix', '/'), { target: '/a' }],
]

export const ATTACKS: readonly Attack[] = [
  ...CLAIMS.map(([deny, claims]) => ofClaims(deny, claims)),
  {
    name: 'the last of nine paths changes',
    old: { rules: [{ deny: NINE('/x1') }] },
    now: { rules: [{ deny: NINE('/x2') }] },
    requests: [{ target: '/x1' }, { target: '/x2' }],
  },
  {
    name: 'the end of a long string changes',
    old: { rules: [{ deny: NINETY('a') }] },
    now: { rules: [{ deny: NINETY('b') }] },
    requests: [{ headers: [['x-a', `${'x'.repeat(90)}a`]] }],
  },
  {
    name: 'one of two rules that differ in the last of nine paths goes',
    old: { rules: [{ deny: NINE('/x1') }, { deny: NINE('/x2') }] },
    now: { rules: [{ deny: NINE('/x1') }] },
    requests: [{ target: '/x2' }],
  },
  ...KEEPING.map((policies, index) => ({
    name: `the body is kept, ${index}`,
    old: { top: SMALL },
    now: { top: SMALL, policies },
    requests: [LONG_BODY],
  })),
  {
    name: 'the body is kept for a retry',
    old: { top: SMALL },
    now: {
      top: SMALL,
      policies: { retry: { attempts: 2, condition: "request.with(r, string(r.body) == 'q')" } },
    },
    requests: [LONG_BODY],
  },
  ...ROUTES.map(([name, first, second, request]): Attack => {
    const shared = { route: { matches: [first] }, more: [{ matches: [second] }] }
    return {
      name: `of two routes: ${name}`,
      old: { ...shared, rules: [{ deny: "request.method == 'GET'" }] },
      now: shared,
      requests: [request],
    }
  }),
  {
    name: 'a pattern that says the same',
    old: { route: { matches: [path('regex', '/a[0-9]')] } },
    now: { route: { matches: [path('regex', '^/a\\d$')] } },
    requests: [{ target: '/a1' }, { target: '/a1b' }],
    isSame: true,
  },
  {
    name: 'a bad token, where one of several ways to sign in is enough',
    old: { policies: { ...OTHER_TOKEN, ...ANY_OF } },
    now: { policies: ANY_OF },
    requests: [{ headers: [['authorization', 'Bearer invalid']] }],
    isSame: true,
  },
]

/** The file of a side. */
export function fileOf({ rules, policies, route, more = [], top }: Side, place: Place): Tree {
  const { ports, backends } = place
  const to = (index: number) => [{ host: `127.0.0.1:${backends[index]}` }]
  const own = { ...policies, ...(rules === undefined ? {} : { authorization: { rules } }) }
  return {
    config: settings([]),
    ...top,
    gateways: { default: { port: ports[0] as number } },
    routes: [
      {
        name: 'r0',
        ...route,
        ...(Object.keys(own).length === 0 ? {} : { policies: own as Tree }),
        backends: to(0),
      },
      ...more.map((one, index) => ({ name: `r${index + 1}`, ...one, backends: to(index + 1) })),
    ],
  }
}
