import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import { type File, host, routed, rules, type SentRequest } from './protocol-attacks.ts'

/*
 * The same for policies that decide without being a rule, and for routing. The sockets decide what
 * a pair changes.
 */

export interface PolicyAttack {
  readonly name: string
  readonly old: File
  readonly now: File
  readonly requests: readonly SentRequest[]
  /** These requests do not show all changes: `diff` must not prove that nothing changes. */
  readonly isUntold?: true
}

export const plain = (policies: Tree, backend: Tree = {}): File => {
  return (place) => routed({ host: host(place), ...backend }, policies)
}
export const pair = (
  name: string,
  old: File,
  now: File,
  requests: readonly SentRequest[] = [{}],
  more: Pick<PolicyAttack, 'isUntold'> = {},
): PolicyAttack => ({ name, old, now, requests, ...more })
export const marked = (value: string, more: Partial<SentRequest> = {}): SentRequest => ({
  ...more,
  headers: [['x-a', value], ...(more.headers ?? [])],
})
export const POST: SentRequest = { method: 'POST', body: 'x'.repeat(50) }

const directed = (...entries: readonly Tree[]): File =>
  plain({ directResponse: { conditional: entries } })
const CONDITIONAL: readonly PolicyAttack[] = [
  pair(
    'entries of a response change places',
    directed({ condition: "request.path == '/'", status: 200 }, { status: 403 }),
    directed({ condition: "request.path == '/'", status: 403 }, { status: 200 }),
    [{}, { target: '/b' }],
  ),
  pair(
    'a response for some is a response for others',
    directed({ condition: "request.headers['x-a'] == '1'", status: 403 }),
    directed({ condition: "request.headers['x-a'] == '2'", status: 403 }),
    [marked('1'), marked('2'), {}],
  ),
  pair(
    'a response in place of the backend',
    plain({}),
    plain({ directResponse: { status: 200, body: 'x' } }),
  ),
  pair('a response that is an error', plain({}), plain({ directResponse: { status: 500 } })),
  pair(
    'a response whose header fails',
    plain({ directResponse: { status: 200 } }),
    plain({ directResponse: { status: 200, headers: { 'x-b': "request.headers['x-a']" } } }),
    [{}, marked('1')],
  ),
  pair(
    'a response whose body fails',
    plain({ directResponse: { status: 200 } }),
    plain({ directResponse: { status: 200, bodyExpression: "request.headers['x-a']" } }),
    [{}, marked('1')],
  ),
  pair('a redirect', plain({}), plain({ requestRedirect: { scheme: 'https' } })),
  pair(
    'a rule goes before a redirect',
    plain({ requestRedirect: {}, ...rules({ deny: "request.path == '/'" }) }),
    plain({ requestRedirect: {} }),
  ),
]

const MIRRORED: readonly PolicyAttack[] = [
  pair(
    'copies go elsewhere',
    plain({}),
    (place) =>
      routed({ host: host(place) }, { requestMirror: { backend: { host: host(place, 1) } } }),
    [{}, POST],
  ),
  pair(
    'copies go to a backend that denies all',
    (place) => ({
      ...routed({ host: host(place) }, {}),
      backends: [{ name: 'shadow', host: host(place, 1), policies: rules({ deny: 'true' }) }],
    }),
    (place) => ({
      ...routed({ host: host(place) }, { requestMirror: { backend: { backend: 'shadow' } } }),
      backends: [{ name: 'shadow', host: host(place, 1), policies: rules({ deny: 'true' }) }],
    }),
    [{}],
  ),
  pair(
    'it is tried again',
    plain({}),
    plain({ retry: { attempts: 2, codes: [503], precondition: "request.headers['x-a'] == '1'" } }),
    [{}, POST, marked('1')],
  ),
  pair(
    'it is kept to be tried again',
    plain({}),
    plain({ buffer: { request: { maxBytes: 16 } } }),
    [POST, {}],
  ),
]

const USERS = ['alice:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg=']
const basic = (user: string, password: string): readonly (readonly [string, string])[] => [
  ['authorization', `Basic ${btoa(`${user}:${password}`)}`],
]
const ALICE: SentRequest = { headers: basic('alice', 's3cret') }
const CREDENTIALS: readonly PolicyAttack[] = [
  pair(
    'another password',
    plain({ basicAuth: { users: USERS } }),
    plain({ basicAuth: { users: ['alice:{SHA}AAAAAAAAAAAAAAAAAAAAAAAAAAA='] } }),
    [ALICE],
  ),
  pair(
    'another user',
    plain({ basicAuth: { users: USERS } }),
    plain({ basicAuth: { users: [USERS[0]?.replace('alice', 'bob') as string] } }),
    [ALICE],
  ),
  pair(
    'a user twice, of whom the first counts',
    plain({ basicAuth: { users: USERS } }),
    plain({ basicAuth: { users: ['alice:{SHA}AAAAAAAAAAAAAAAAAAAAAAAAAAA=', ...USERS] } }),
    [ALICE],
  ),
  pair(
    'a password is optional',
    plain({ basicAuth: { users: USERS } }),
    plain({ basicAuth: { users: USERS, mode: 'Optional' } }),
    [{}, { headers: basic('alice', 'wrong') }],
  ),
  pair(
    'a password is looked for elsewhere',
    plain({ basicAuth: { users: USERS } }),
    plain({ basicAuth: { users: USERS, location: { header: { name: 'x-a', prefix: 'Basic ' } } } }),
    [ALICE],
  ),
]

const FOREIGN: SentRequest = {
  method: 'POST',
  headers: [['origin', 'https://b.test']],
}
const SITES: readonly PolicyAttack[] = [
  pair('pages of other sites are rejected', plain({}), plain({ csrf: {} }), [
    FOREIGN,
    { method: 'POST' },
    { headers: FOREIGN.headers ?? [] },
    { method: 'POST', headers: [['origin', 'http://a.test']] },
    { method: 'POST', headers: [['origin', 'null']] },
    { method: 'POST', headers: [['sec-fetch-site', 'cross-site']] },
    { method: 'POST', headers: [['sec-fetch-site', 'same-origin'], ...(FOREIGN.headers ?? [])] },
  ]),
  pair(
    'pages of another site are trusted',
    plain({ csrf: {} }),
    plain({ csrf: { additionalOrigins: ['https://b.test'] } }),
    [FOREIGN, { method: 'POST', headers: [['origin', 'https://c.test']] }],
  ),
  pair(
    'a rule goes about what other sites send',
    plain({ csrf: {}, ...rules({ deny: "request.headers['origin'] == 'https://b.test'" }) }),
    plain({ csrf: {} }),
    [{ headers: FOREIGN.headers ?? [] }, FOREIGN],
  ),
]

const LIMITS: readonly PolicyAttack[] = [
  pair(
    'few requests are enough',
    plain({}),
    plain({ localRateLimit: { requests: 1, unit: 'Hours' } }),
    [{}],
    { isUntold: true },
  ),
  pair(
    'a limit is another one',
    plain({ localRateLimit: { requests: 100, unit: 'Hours' } }),
    plain({ localRateLimit: { requests: 1, unit: 'Hours' } }),
    [{}],
    { isUntold: true },
  ),
  pair(
    'a limit is for each client',
    plain({ localRateLimit: { requests: 1, unit: 'Hours' } }),
    plain({ localRateLimit: { requests: 1, unit: 'Hours', key: 'source.address' } }),
    [{}],
    { isUntold: true },
  ),
  pair(
    'a limit is for some',
    plain({
      localRateLimit: {
        conditional: [{ condition: "request.path == '/'", requests: 1, unit: 'Hours' }],
      },
    }),
    plain({
      localRateLimit: {
        conditional: [{ condition: "request.path == '/b'", requests: 1, unit: 'Hours' }],
      },
    }),
    [{}],
    { isUntold: true },
  ),
  pair(
    'a service counts for some',
    (place) =>
      routed(
        { host: host(place) },
        {
          remoteRateLimit: {
            conditional: [{ condition: "request.path == '/b'", ...counted(place) }],
          },
        },
      ),
    (place) =>
      routed(
        { host: host(place) },
        {
          remoteRateLimit: {
            conditional: [{ condition: "request.path == '/'", ...counted(place) }],
          },
        },
      ),
    [{}, { target: '/b' }, { target: '/c' }],
  ),
]

function counted({ limiter }: Addresses): Tree {
  const descriptors = [{ entries: [{ key: 'k', value: "'v'" }] }]
  return { host: limiter, domain: 'd', failureMode: 'Deny', descriptors }
}

const shares = (...weights: readonly number[]): File => {
  return (place) => ({
    routes: [
      {
        name: 'r0',
        backends: weights.map((weight, index) => ({
          ...{ host: host(place, index), weight },
          policies: index === 0 ? rules({ deny: "request.headers['x-a'] == '1'" }) : {},
        })),
      },
    ],
  })
}
const WEIGHTS: readonly PolicyAttack[] = [
  pair('nothing is left to go to', shares(1), shares(0)),
  pair('the backend with a rule has no share', shares(1, 0), shares(0, 1), [marked('1'), {}]),
  pair('the backend without a rule has no share', shares(0, 1), shares(1, 0), [marked('1'), {}]),
  pair('shares without any effect', shares(0, 1), shares(0, 7), [marked('1'), {}]),
  pair('a share for a rule', shares(0, 1), shares(1, 1), [{}], { isUntold: true }),
]

const dynamic = (more: Tree, policies: Tree = {}): File => {
  return () => routed({ dynamic: more }, policies)
}
const DYNAMIC: readonly PolicyAttack[] = [
  pair('requests say where they go', plain({}), dynamic({}), [{}]),
  pair(
    'a header says where they go',
    plain({}),
    dynamic({ target: "request.headers['x-target']" }),
    [{}],
  ),
  pair(
    'a rule goes about where they go',
    dynamic({}, rules({ deny: "request.host == 'a.test'" })),
    dynamic({}),
    [{}],
  ),
]

export const POLICY_ATTACKS: readonly PolicyAttack[] = [
  ...CONDITIONAL,
  ...MIRRORED,
  ...CREDENTIALS,
  ...SITES,
  ...LIMITS,
  ...WEIGHTS,
  ...DYNAMIC,
]
