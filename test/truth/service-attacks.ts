import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import {
  call,
  type File,
  host,
  models,
  type ProtocolAttack,
  routed,
  rules,
  type SentRequest,
  toolCall,
  tools,
} from './protocol-attacks.ts'
import type { InvariantAttack } from './stream-attacks.ts'

/*
 * The same for guards, services that deny, sessions, several providers and pins: decisions that are
 * not made by a rule, on both sides or on one.
 */

const MARKED: readonly (readonly [string, string])[] = [['x-a', '1']]
const DENIES_MARKED = rules({ deny: "request.headers['x-a'] == '1'" })
const guard = (phase: 'request' | 'response', action: string, pattern: string): Tree => ({
  guardrails: { [phase]: [{ regex: { action, rules: [{ pattern }] } }] },
})
const REJECTS_ALL = guard('request', 'Reject', '(?s).+')
const said = (text: string, more: Partial<SentRequest> = {}): SentRequest => ({
  ...call('m', more),
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: text }] }),
})
const webhook = (address: string, phase = 'request'): Tree => ({
  guardrails: { [phase]: [{ webhook: { target: { host: address } } }] },
})

/** Removes a rule, while something else denies the same requests: nothing is newly admitted. */
const stillDenied = (
  name: string,
  file: (place: Addresses, policies: Tree) => Tree,
  ...requests: readonly SentRequest[]
): ProtocolAttack => ({
  name: `a rule goes, and nobody gets in: ${name}`,
  old: (place) => file(place, DENIES_MARKED),
  now: (place) => file(place, {}),
  requests,
  isSame: true,
})

const GUARDS: readonly ProtocolAttack[] = [
  {
    name: 'a guard rejects other words',
    old: (place) => routed(models(place, {}, { policies: guard('request', 'Reject', 'one') })),
    now: (place) => routed(models(place, {}, { policies: guard('request', 'Reject', 'two') })),
    requests: [said('one'), said('two'), said('three'), { target: '/v1/files' }, {}],
  },
  {
    name: 'a guard masks what it rejected',
    old: (place) => routed(models(place, { policies: guard('request', 'Reject', 'one') })),
    now: (place) => routed(models(place, { policies: guard('request', 'Mask', 'one') })),
    requests: [said('one'), said('two')],
  },
  {
    name: 'a guard of responses rejects what the model says',
    old: (place) => routed(models(place, { policies: guard('response', 'Reject', 'y') })),
    now: (place) => routed(models(place, { policies: guard('response', 'Reject', 'x') })),
    requests: [said('one')],
  },
  {
    name: 'requests that are no calls are denied where there are guards',
    old: (place) => routed(models(place), {}),
    now: (place) => routed(models(place, {}, { policies: guard('request', 'Mask', 'one') })),
    requests: [{ target: '/v1/files' }, {}, { method: 'POST', target: '/v1/files', body: 'x' }],
  },
  {
    name: 'a webhook says no',
    old: (place) => routed(models(place)),
    now: (place) => routed(models(place, { policies: webhook(place.rejecting) })),
    requests: [said('one')],
  },
  {
    name: 'a guard of all tools rejects their arguments',
    old: (place) => routed(tools(place, {}, guard('request', 'Reject', 'other'))),
    now: (place) => routed(tools(place, {}, guard('request', 'Reject', 'secret'))),
    requests: [argued('secret'), argued('other'), argued('none')],
  },
  stillDenied(
    'a guard rejects every prompt',
    (place, policies) => routed(models(place, { policies: REJECTS_ALL }), policies),
    said('x', { headers: MARKED }),
    { headers: MARKED },
    {},
  ),
  {
    ...stillDenied(
      'a guard rejects every response',
      (place, policies) =>
        routed(models(place, { policies: guard('response', 'Reject', '(?s).+') }), policies),
      said('x', { headers: MARKED }),
    ),
  },
  stillDenied(
    'a webhook denies',
    (place, policies) => routed(models(place, { policies: webhook(place.rejecting) }), policies),
    said('x', { headers: MARKED }),
  ),
  stillDenied(
    'a webhook denies every response',
    (place, policies) =>
      routed(models(place, { policies: webhook(place.rejecting, 'response') }), policies),
    said('x', { headers: MARKED }),
  ),
  stillDenied(
    'a guard rejects every tool',
    (place, policies) => routed(tools(place, {}, guard('request', 'Reject', 'x')), policies),
    argued('x', MARKED),
  ),
]

function argued(text: string, headers: SentRequest['headers'] = []): SentRequest {
  const own = toolCall('read', headers)
  const params = { name: 'read', arguments: { text } }
  return { ...own, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }) }
}

const processed = ({ processor }: Addresses): Tree => ({ extProc: { host: processor } })
const limited = ({ limiter }: Addresses): Tree => ({
  remoteRateLimit: {
    ...{ host: limiter, domain: 'd', failureMode: 'Deny' },
    descriptors: [{ entries: [{ key: 'k', value: "'v'" }] }],
  },
})
const ASKING: readonly (readonly [string, (place: Addresses) => Tree])[] = [
  ['a processor', processed],
  ['a service that counts', limited],
  [
    'a service by HTTP',
    ({ rejecting }) => ({ extAuthz: { host: rejecting, protocol: { http: {} } } }),
  ],
]

const SERVICES: readonly ProtocolAttack[] = ASKING.flatMap(([name, policies]) => [
  {
    name: `${name} is asked from now on`,
    old: (place) => routed({ host: host(place) }),
    now: (place) => routed({ host: host(place) }, policies(place)),
    requests: [{}],
  },
  {
    ...stillDenied(
      `${name} denies`,
      (place, more) => routed({ host: host(place) }, { ...policies(place), ...more }),
      { headers: MARKED },
      {},
    ),
  },
])

const SIGN_IN: Tree = {
  issuer: 'https://login.example.com',
  clientId: 'c',
  redirectUri: 'https://a.test/oauth2/callback',
  cookieSecret: '0'.repeat(64),
}
const signed = (mode: string, ...own: readonly Tree[]): File => {
  return (place) =>
    routed(
      { host: host(place) },
      { oidc: { ...SIGN_IN, mode }, ...(own.length > 0 && rules(...own)) },
    )
}
const ALICE: SentRequest = { session: '{"sub":"alice","groups":["a"]}' }
const PAGES = ['callback', 'login', 'logout', 'backchannel-logout'].map((page) => ({
  target: `/oauth2/${page}`,
}))

const SESSIONS: readonly ProtocolAttack[] = [
  {
    name: 'a rule about whoever is signed in goes',
    old: signed('Strict', { deny: "jwt.sub == 'alice'" }),
    now: signed('Strict'),
    requests: [ALICE, {}, ...PAGES],
  },
  {
    name: 'a rule about a group of whoever is signed in changes',
    old: signed('Optional', { allow: "'a' in jwt.groups" }),
    now: signed('Optional', { allow: "'b' in jwt.groups" }),
    requests: [ALICE, {}, ...PAGES],
  },
  {
    name: 'a rule about a page of sign-in goes, which nobody but the gateway serves',
    old: signed('Optional', { deny: "request.path == '/oauth2/logout'" }),
    now: signed('Optional'),
    requests: [{ target: '/oauth2/logout' }, { ...ALICE, target: '/oauth2/logout' }, ...PAGES],
    isSame: true,
  },
  {
    name: 'the pages of sign-in move',
    old: signed('Optional'),
    now: (place) =>
      routed(
        { host: host(place) },
        { oidc: { ...SIGN_IN, mode: 'Optional', redirectUri: 'https://a.test/app/callback' } },
      ),
    requests: [{ target: '/oauth2/logout' }, { target: '/app/logout' }],
  },
]

const provider = (place: Addresses, name: string, index: number, more: Tree = {}): Tree => ({
  ...{ name, provider: { openAI: {} }, hostOverride: host(place, index) },
  ...more,
})
const grouped = (...providers: readonly Tree[]): Tree => ({
  ai: { groups: providers.map((one) => ({ providers: [one] })) },
})
const EMBEDDING: SentRequest = {
  method: 'POST',
  target: '/v1/embeddings',
  headers: [['content-type', 'application/json']],
  body: '{"model":"m","input":"x"}',
}
const ofModels = (first: Tree, second: Tree, virtual: Tree = {}): File => {
  return (place) => ({
    llm: {
      gateways: 'default',
      models: [
        { name: 'one', provider: 'openAI', params: { hostOverride: host(place) }, ...first },
        { name: 'two', provider: 'openAI', params: { hostOverride: host(place, 1) }, ...second },
      ],
      virtualModels: [
        {
          name: 'both',
          routing: {
            failover: {
              targets: [
                { model: 'one', priority: 0 },
                { model: 'two', priority: 1 },
              ],
            },
          },
          ...virtual,
        },
      ],
    },
  })
}
const conditional = (when: string): Tree => ({
  routing: { conditional: { targets: [{ model: 'one', when }] } },
})
const DENIES_ALL = rules({ deny: 'true' })

const PROVIDERS: readonly ProtocolAttack[] = [
  {
    name: 'providers change places, and the first cannot be asked for all',
    old: (place) =>
      routed(
        grouped(provider(place, 'a', 0, { provider: { anthropic: {} } }), provider(place, 'b', 1)),
      ),
    now: (place) =>
      routed(
        grouped(provider(place, 'b', 1), provider(place, 'a', 0, { provider: { anthropic: {} } })),
      ),
    requests: [EMBEDDING, { target: '/v1/files' }, {}],
    isSame: true,
  },
  {
    name: 'the second provider begins to read the model',
    old: (place) => routed(grouped(provider(place, 'a', 0), provider(place, 'b', 1))),
    now: (place) =>
      routed(
        grouped(
          provider(place, 'a', 0),
          provider(place, 'b', 1, { policies: rules({ deny: "llm.requestModel == 'bad'" }) }),
        ),
      ),
    requests: [{ method: 'POST', target: '/v1/files' }, call('bad'), call('m')],
  },
  {
    name: 'a needless rule of one provider keeps out what names no model at the other',
    old: (place) => routed(needless(place)),
    now: (place) => routed(needless(place)),
    requests: [{ method: 'POST', target: '/v1/files' }, call('m'), {}],
    isSame: true,
  },
  {
    name: 'a rule of the only provider that a virtual model may ask',
    old: ofModels(DENIES_ALL, rules({ deny: "llm.requestModel == 'both'" })),
    now: ofModels(DENIES_ALL, {}),
    requests: [call('both'), call('two'), call('one'), { target: '/v1/models' }, call('none')],
  },
  {
    name: 'a condition of a virtual model changes',
    old: ofModels({}, {}, conditional("request.headers['x-a'] == '1'")),
    now: ofModels({}, {}, conditional("request.headers['x-a'] == '2'")),
    requests: [call('both', { headers: MARKED }), call('both'), call('one')],
  },
  {
    name: 'the model that a virtual one leads to is guarded otherwise',
    old: ofModels(DENIES_ALL, {}, conditional('true')),
    now: ofModels({}, DENIES_ALL, conditional('true')),
    requests: [call('both'), call('one'), call('two')],
  },
  {
    name: 'priorities change, and the rule of the second is the stricter',
    old: ofModels({}, DENIES_ALL),
    now: ofModels(DENIES_ALL, DENIES_ALL),
    requests: [call('both'), call('one'), call('two')],
  },
]

function needless(place: Addresses): Tree {
  const never = [
    { deny: "llm.requestModel == 'x' && request.method == 'GET'" },
    { deny: "request.method == 'GET'" },
  ]
  return grouped(
    provider(place, 'a', 0, { policies: rules(...never) }),
    provider(place, 'b', 1, { policies: rules({ deny: "request.method == 'GET'" }) }),
  )
}

export const SERVICE_ATTACKS: readonly ProtocolAttack[] = [
  ...GUARDS,
  ...SERVICES,
  ...SESSIONS,
  ...PROVIDERS,
]

/** Requests that are not admitted refute nothing. */
const NOBODY_MARKED = "request.headers['x-a'] != '1'"
export const SERVICE_INVARIANTS: readonly InvariantAttack[] = [
  ...ASKING.map(
    ([name, policies]): InvariantAttack => ({
      name: `${name} denies all, and may`,
      file: (place) => routed({ host: host(place) }, policies(place)),
      on: {},
      admitted: NOBODY_MARKED,
      verdict: 'not known',
    }),
  ),
  {
    name: 'a guard denies every call, but not the list of models',
    file: (place) => routed(models(place, { policies: REJECTS_ALL })),
    on: {},
    admitted: NOBODY_MARKED,
    request: { target: '/v1/models' },
    verdict: 'refuted',
  },
  {
    name: 'a webhook denies every call',
    file: (place) => routed(models(place, { policies: webhook(place.rejecting) })),
    on: {},
    admitted: NOBODY_MARKED,
    verdict: 'not known',
  },
  {
    name: 'a page of sign-in gets to no backend',
    file: signed('Optional'),
    on: {},
    admitted: "request.path != '/oauth2/logout'",
    verdict: 'not known',
  },
  {
    name: 'whoever gets in is signed in',
    file: signed('Strict'),
    on: {},
    admitted: 'has(jwt.sub)',
    request: { session: '{"sub":"alice"}' },
    verdict: 'not known',
  },
  {
    name: 'somebody gets in who is not signed in',
    file: signed('Optional'),
    on: {},
    admitted: 'has(jwt.sub)',
    request: {},
    verdict: 'not known',
  },
]
