import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import { type PolicyAttack, pair, plain } from './policy-attacks.ts'
import {
  call,
  type File,
  host,
  models,
  routed,
  rules,
  type SentRequest,
} from './protocol-attacks.ts'
import { streaming } from './stream-attacks.ts'

/*
 * The same for parsing requests, for connections, and for expressions that fail during evaluation.
 */

const read = (http: Tree, policies: Tree = {}): File => {
  return (place) => ({ frontendPolicies: { http }, ...routed({ host: host(place) }, policies) })
}
const POST: SentRequest = { method: 'POST', body: 'x'.repeat(50) }
const many = (count: number): SentRequest => ({
  headers: Array.from({ length: count }, (_, n) => [`x-${n}`, '1'] as const),
})
const LONG: SentRequest = { headers: [['x-a', 'y'.repeat(3_000)]] }
const both = (...requests: readonly SentRequest[]): readonly SentRequest[] => [
  ...requests,
  ...requests.map((one) => ({ ...one, isHttp2: true as const })),
]
const DENIES_ADMIN = rules({ deny: "request.path.startsWith('/admin')" })
const READING: readonly PolicyAttack[] = [
  pair('bodies are short', read({}), read({ maxBodySize: 10 }), both(POST, {})),
  pair('heads are short', read({}), read({ maxHeadSize: '1Ki' }), both(LONG, {})),
  pair(
    'heads of HTTP/2 are short',
    read({}),
    read({ http2MaxHeaderSize: '1Ki' }),
    both({ ...LONG, isHttp2: true }, LONG, {}),
  ),
  pair('headers are few', read({}), read({ http1MaxHeaders: 5 }), both(many(9), many(2))),
  pair(
    'bodies that a rule reads are short',
    read({}, rules({ deny: "string(request.body) == 'a'" })),
    read({ maxBufferSize: 10 }, rules({ deny: "string(request.body) == 'a'" })),
    both(POST, {}),
  ),
  pair(
    'names with underscores',
    read({ headersWithUnderscores: 'Allow' }),
    read({ headersWithUnderscores: 'Reject' }),
    both({ headers: [['x_a', '1']] }, {}),
  ),
  pair(
    'names with underscores are dropped, and a rule reads them',
    read({ headersWithUnderscores: 'Allow' }, rules({ deny: "request.headers['x_a'] == '1'" })),
    read({ headersWithUnderscores: 'Drop' }, rules({ deny: "request.headers['x_a'] == '1'" })),
    both({ headers: [['x_a', '1']] }, {}),
  ),
  pair(
    'slashes are kept',
    read({ mergeSlashes: true }, DENIES_ADMIN),
    read({ mergeSlashes: false }, DENIES_ADMIN),
    both({ target: '//admin' }, { target: '/admin' }),
  ),
  pair(
    'HTTP/2 is told from HTTP/1.1',
    read({}),
    read({}, rules({ deny: "request.version == 'HTTP/2'" })),
    both({}),
  ),
]

const shared = (
  weights: readonly (readonly number[])[],
  more: Tree = { protocol: 'TCP' },
): File => {
  return (place) =>
    streaming(
      place,
      weights.map((own, index) => ({
        name: `t${index}`,
        backends: own.map((weight, at) => ({ host: host(place, at), weight })),
      })),
      more,
    )
}
const fromHere: Tree = {
  protocol: 'TCP',
  frontendPolicies: {
    networkAuthorization: {
      rules: [{ deny: "cidr('127.0.0.0/8').containsIP(source.address)" }],
    },
  },
}
const STREAMS: readonly PolicyAttack[] = [
  pair('a connection leads nowhere', shared([[1]]), shared([[0]])),
  pair('one of two backends has no share', shared([[1, 0]]), shared([[0, 1]])),
  pair('no backend of two has a share', shared([[1, 1]]), shared([[0, 0]])),
  pair('the second route is never reached', shared([[1], [0]]), shared([[1], [1]])),
  pair('the first route leads nowhere', shared([[1], [1]]), shared([[0], [1]])),
  pair('connections of an address are denied', shared([[1, 0]]), shared([[1, 0]], fromHere)),
]

const HEADER = "request.headers['x-a']"
const MARKED: SentRequest = { headers: [['x-a', '1']] }
const FAILING: readonly PolicyAttack[] = (
  [
    ['a delay', { delay: { duration: `int(${HEADER})` } }],
    ['a header', { transformations: { request: { set: { 'x-b': HEADER } } } }],
    ['a path', { transformations: { request: { set: { ':path': HEADER } } } }],
    ['a path that is none', { transformations: { request: { set: { ':path': "'x y'" } } } }],
    ['an authority', { transformations: { request: { set: { ':authority': HEADER } } } }],
    ['a header of a response', { transformations: { response: { set: { 'x-b': HEADER } } } }],
    ['a body', { transformations: { request: { body: HEADER } } }],
    [
      'a condition to try again',
      { retry: { attempts: 1, codes: [503], precondition: `${HEADER} == '1'` } },
    ],
    ['a key of a limit', { localRateLimit: { requests: 9, unit: 'Hours', key: HEADER } }],
    ['a rewrite', { urlRewrite: { path: { full: '/b' } } }],
  ] as const
).map(([name, policies]) =>
  pair(`an expression fails: ${name}`, plain({}), plain(policies as Tree), [{}, MARKED, POST]),
)

const KEYS: Tree = { keys: [{ key: 'robot-key', metadata: { team: 'eng' } }] }
const keyed = (location: Tree): File => plain({ apiKey: { ...KEYS, location } })
const BY_HEADER: SentRequest = { headers: [['x-a', 'robot-key']], key: { team: 'eng' } }
const IN_QUERY: SentRequest = { target: '/?k=robot-key', key: { team: 'eng' } }
const IN_COOKIE: SentRequest = { headers: [['cookie', 'k=robot-key']], key: { team: 'eng' } }
/** A key at the configured location counts as verified only in requests with `key`. */
const PLACES: readonly PolicyAttack[] = (
  [
    [
      'the query',
      { queryParameter: { name: 'k' } },
      [IN_QUERY, {}, { target: '/?k=wrong' }, { target: '/?k=robot-key&k=robot-key' }],
    ],
    ['a cookie', { cookie: { name: 'k' } }, [IN_COOKIE, {}, { headers: [['cookie', 'k=wrong']] }]],
    ['an expression', { expression: HEADER }, [BY_HEADER, {}, MARKED]],
  ] as const
).map(([name, location, requests]) =>
  pair(`a key in ${name}`, keyed(location), keyed(location), requests),
)

const budgeted = (...budgets: readonly Tree[]): File => {
  return (place: Addresses) => routed(models(place), { budgets })
}
const BUDGETS: readonly PolicyAttack[] = [
  pair(
    'few calls are enough',
    (place) => routed(models(place)),
    budgeted({ requests: 1_000_000, per: 'Day' }),
    [call('m')],
    { isUntold: true },
  ),
  pair(
    'requests that are no calls cannot be counted in tokens',
    (place) => routed(models(place)),
    budgeted({ tokens: 1_000_000, per: 'Day' }),
    [{ target: '/v1/files' }, call('m')],
  ),
]

export const FRONTEND_ATTACKS: readonly PolicyAttack[] = [
  ...READING,
  ...STREAMS,
  ...FAILING,
  ...PLACES,
  ...BUDGETS,
]
