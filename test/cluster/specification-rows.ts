// The tables and rules of the specification as policies and requests; `specification.ts` applies
// and sends them.

import { PROVIDER, tokenOf } from './tokens.ts'

/** A request to the HTTP listener. */
export interface Asked {
  /** The claims of a valid token. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** The whole field value, if the token must be invalid. */
  readonly authorization?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly path?: string
}

export interface Scenario {
  readonly policies: Readonly<Record<string, object>>
  readonly rows: readonly (readonly [what: string, asked: Asked, status: number])[]
}

const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web' }

export const block = (action: string, ...matchExpressions: readonly string[]) => ({
  action,
  policy: { matchExpressions },
})
export const onService = (name: string, backend: object) => ({
  targetRefs: [{ group: '', kind: 'Service', name }],
  backend,
})
const onGateway = (traffic: object) => ({ targetRefs: [GATEWAY], traffic })
const rules = (action: string, ...all: readonly string[]) =>
  onGateway({ authorization: block(action, ...all) })
const JWT = { jwtAuthentication: { mode: 'Strict', providers: [PROVIDER] } }
const rulesWithJwt = (action: string, ...all: readonly string[]) =>
  onGateway({ ...JWT, authorization: block(action, ...all) })

const ALICE = { claims: { sub: 'alice' } }
const BOB = { claims: { sub: 'bob' } }
const INTERNAL = { headers: { 'x-internal': 'true' } }
const IS_INTERNAL = "request.headers['x-internal'] == 'true'"
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A token that is modified after signing, or signed without a required part. */
function spoilt(change: (parts: string[]) => void): string {
  const parts = tokenOf({ sub: 'alice' }).split('.')
  change(parts)
  return parts.join('.')
}
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

// biome-ignore format: a table
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'without a policy everything is admitted': {
    policies: {},
    rows: [['a request', {}, 200], ['one with a token that nobody verifies', bearer('x'), 200]],
  },
  'Allow: expressions are ORed, and what matches none is denied': {
    policies: { allow: rules('Allow', "request.method == 'GET'", IS_INTERNAL) },
    rows: [
      ['the first matches', {}, 200],
      ['the second matches', { method: 'POST', ...INTERNAL }, 200],
      ['none matches', { method: 'POST' }, 403],
    ],
  },
  'Allow in two policies: one match in either is enough': {
    policies: { a: rules('Allow', "request.method == 'GET'"), b: rules('Allow', IS_INTERNAL) },
    rows: [['of one', {}, 200], ['of the other', { method: 'POST', ...INTERNAL }, 200], ['of none', { method: 'POST' }, 403]],
  },
  'Require alone: expressions are ANDed, and there is no allowlist': {
    policies: { require: rules('Require', IS_INTERNAL, "request.path.startsWith('/v')") },
    rows: [
      ['all are true', { ...INTERNAL, path: '/v' }, 200],
      ['one is false', { ...INTERNAL, path: '/w' }, 403],
      ['one reads a header that is not there', { path: '/v' }, 403],
    ],
  },
  'Deny alone admits the rest': {
    policies: { deny: rules('Deny', "request.path.startsWith('/secret')", "request.method == 'PUT'") },
    rows: [['the first matches', { path: '/secret/1' }, 403], ['the second matches', { method: 'PUT' }, 403], ['none matches', {}, 200]],
  },
  'Deny overrides a matching Allow': {
    policies: { allow: rules('Allow', 'true'), deny: rules('Deny', IS_INTERNAL) },
    rows: [['both match', INTERNAL, 403], ['only Allow matches', {}, 200]],
  },
  'an Allow does not get around a failed Require': {
    policies: { allow: rules('Allow', 'true'), require: rules('Require', IS_INTERNAL) },
    rows: [['Require fails', {}, 403], ['Require holds', INTERNAL, 200]],
  },
  'all three: Deny, then Require, then Allow': {
    policies: {
      deny: rules('Deny', "request.path == '/never'"),
      require: rules('Require', IS_INTERNAL),
      allow: rules('Allow', "request.method == 'GET'"),
    },
    rows: [
      ['denied, required and allowed', { ...INTERNAL, path: '/never' }, 403],
      ['required and allowed', INTERNAL, 200],
      ['allowed alone', {}, 403],
      ['required alone', { ...INTERNAL, method: 'POST' }, 403],
    ],
  },
  'combination outcomes': {
    policies: { allow: rulesWithJwt('Allow', "jwt.sub == 'alice'"), require: rules('Require', IS_INTERNAL) },
    rows: [
      ['user alice, header present', { ...ALICE, ...INTERNAL }, 200],
      ['user alice, header absent', ALICE, 403],
      ['other user, header present', { ...BOB, ...INTERNAL }, 403],
      ['other user, header absent', BOB, 403],
      ['another value of the header', { ...ALICE, headers: { 'x-internal': 'false' } }, 403],
    ],
  },
  'a token that does not verify: 401, and no rule is evaluated': {
    // If the Deny rule were evaluated, the status would be 403.
    policies: { deny: rulesWithJwt('Deny', 'true') },
    rows: [
      ['missing', {}, 401],
      ['malformed', bearer('not-a-token'), 401],
      ['of another scheme', { authorization: 'Basic YWxpY2U6eA==' }, 401],
      ['with another signature', bearer(spoilt((parts) => parts.splice(2, 1, tokenOf({ sub: 'bob' }).split('.')[2] ?? ''))), 401],
      ['with other claims', bearer(spoilt((parts) => parts.splice(1, 1, encoded({ iss: PROVIDER.issuer, sub: 'root', exp: 9_999_999_999 })))), 401],
      ['without a signature', bearer(spoilt((parts) => parts.splice(0, 3, encoded({ alg: 'none', kid: 'test' }), parts[1] ?? '', ''))), 401],
      ['without kid', bearer(tokenOf({ sub: 'alice' }, { kid: undefined })), 401],
      ['of an unknown key', bearer(tokenOf({ sub: 'alice' }, { kid: 'other' })), 401],
      ['without exp', { claims: { sub: 'alice', exp: undefined } }, 401],
      ['expired', { claims: { sub: 'alice', exp: 1_000_000_000 } }, 401],
      ['of another issuer', { claims: { sub: 'alice', iss: 'https://other.example.com' } }, 401],
      ['a valid one gets to the rules', ALICE, 403],
    ],
  },
  'claims are fields of jwt': {
    policies: { allow: rulesWithJwt('Allow', "has(jwt.group) && jwt.group == 'eng'") },
    rows: [
      ['the claim fits', { claims: { sub: 'a', group: 'eng' } }, 200],
      ['another value', { claims: { sub: 'a', group: 'ops' } }, 403],
      ['no such claim', { claims: { sub: 'a' } }, 403],
    ],
  },
  'a Require on a missing jwt context denies': {
    policies: { require: rules('Require', "jwt.sub == 'alice'") },
    rows: [['with a token', ALICE, 403], ['without one', {}, 403]],
  },
  'pitfall 1: a Deny on an absent claim does not fire': {
    policies: { deny: rulesWithJwt('Deny', "jwt.group != 'eng'") },
    rows: [
      ['another group', { claims: { sub: 'a', group: 'ops' } }, 403],
      ['the group', { claims: { sub: 'a', group: 'eng' } }, 200],
      ['no group', { claims: { sub: 'a' } }, 200],
    ],
  },
  'pitfall 1: Require is what denies it': {
    policies: { require: rulesWithJwt('Require', "jwt.group == 'eng'") },
    rows: [['no group', { claims: { sub: 'a' } }, 403], ['the group', { claims: { sub: 'a', group: 'eng' } }, 200]],
  },
  'pitfall 2: a Require that never holds denies every request': {
    policies: { require: rules('Require', "cidr('192.0.2.0/24').containsIP(source.address)") },
    rows: [['a request', {}, 403], ['one from behind a proxy', { headers: { 'x-forwarded-for': '192.0.2.1' } }, 403]],
  },
  'pitfall 2: the address is that of the peer': {
    policies: { require: rules('Require', "cidr('127.0.0.0/8').containsIP(source.address)") },
    rows: [['a request', {}, 200]],
  },
  'pitfall 3: a Deny on the path blocks it for everybody': {
    policies: { allow: rulesWithJwt('Allow', "jwt.sub == 'alice'"), deny: rules('Deny', "request.path.startsWith('/admin')") },
    rows: [['whom Allow permits', { ...ALICE, path: '/admin/users' }, 403], ['elsewhere', ALICE, 200], ['another user', BOB, 403]],
  },
  'backend authorization on a Service, where a route selects it': {
    policies: { get: onService('restricted', { authorization: block('Allow', "request.method == 'GET'") }) },
    rows: [
      ['that Service, GET', { path: '/restricted' }, 200],
      ['that Service, POST', { path: '/restricted', method: 'POST' }, 403],
      ['another Service, POST', { method: 'POST' }, 200],
    ],
  },
  'both traffic and backend authorization must pass': {
    policies: {
      allow: rulesWithJwt('Allow', "jwt.sub == 'alice'"),
      get: onService('restricted', { authorization: block('Allow', "request.method == 'GET'") }),
    },
    rows: [
      ['both', { ...ALICE, path: '/restricted' }, 200],
      ['traffic alone', { ...ALICE, path: '/restricted', method: 'DELETE' }, 403],
      ['backend alone', { ...BOB, path: '/restricted' }, 403],
      ['no token', { path: '/restricted' }, 401],
    ],
  },
  'rules on a Service combine as well': {
    policies: {
      get: onService('restricted', { authorization: block('Allow', "request.method in ['GET', 'POST']") }),
      internal: onService('restricted', { authorization: block('Require', IS_INTERNAL) }),
      never: onService('restricted', { authorization: block('Deny', "request.path.endsWith('/x')") }),
    },
    rows: [
      ['allowed and required', { ...INTERNAL, path: '/restricted', method: 'POST' }, 200],
      ['not required', { path: '/restricted' }, 403],
      ['not allowed', { ...INTERNAL, path: '/restricted', method: 'PUT' }, 403],
      ['denied', { ...INTERNAL, path: '/restricted/x' }, 403],
    ],
  },
  'inline authorization on a ProxyBackend': {
    policies: {},
    rows: [['its rule holds', { ...INTERNAL, path: '/inline' }, 200], ['it does not', { path: '/inline' }, 403]],
  },
  'inline authorization and an attached policy both hold': {
    policies: {
      attached: {
        targetRefs: [{ group: 'portcullis.dev', kind: 'ProxyBackend', name: 'inline' }],
        backend: { authorization: block('Require', "request.method == 'GET'") },
      },
    },
    rows: [
      ['both', { ...INTERNAL, path: '/inline' }, 200],
      ['inline alone', { ...INTERNAL, path: '/inline', method: 'POST' }, 403],
      ['attached alone', { path: '/inline' }, 403],
    ],
  },
  'inline authorization on one AI provider': {
    policies: {},
    rows: [
      ['its rule holds', { ...INTERNAL, path: '/v1/chat/completions', method: 'POST' }, 200],
      ['it does not', { path: '/v1/chat/completions', method: 'POST' }, 403],
    ],
  },
}
