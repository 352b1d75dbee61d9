import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import type { Request } from './wire.ts'

/*
 * Pairs that are never drawn at random: each differs in the first of its requests, unless it
 * declares otherwise.
 */

export type SentRequest = Partial<Request> & {
  /** The server name for TLS. */
  readonly sni?: string
  readonly isHttp2?: true
  /** Metadata of its key. */
  readonly key?: Tree
  /** The user of its valid password. */
  readonly user?: string
  /** JSON text of the claims of a session. */
  readonly session?: string
}

export type File = (place: Addresses) => Tree

export interface ProtocolAttack {
  readonly name: string
  readonly old: File
  readonly now: File
  readonly requests: readonly SentRequest[]
  /** Nothing changes, and none of its requests may show a difference. */
  readonly isSame?: true
  /** Other requests may have another outcome: `diff` must not prove that nothing changes. */
  readonly isUntold?: true
  /** The key differs between the files, and `explain` identifies a key by its metadata. */
  readonly isOfKeys?: true
}

export const rules = (...own: readonly Tree[]): Tree => ({ authorization: { rules: own } })
export const routed = (backend: Tree, policies: Tree = {}): Tree => ({
  routes: [{ name: 'r0', policies, backends: [backend] }],
})
export const host = ({ backends }: Addresses, index = 0): string => backends[index] as string

/** A backend with one model provider. */
export const models = (place: Addresses, more: Tree = {}, backend: Tree = {}): Tree => ({
  ai: { name: 'one', provider: { openAI: {} }, hostOverride: host(place), ...more },
  ...backend,
})

export const call = (model: string, more: Partial<SentRequest> = {}): SentRequest => ({
  method: 'POST',
  target: '/v1/chat/completions',
  body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
  ...more,
  headers: [['content-type', 'application/json'], ...(more.headers ?? [])],
})

const NO_BAD_MODEL = rules({ deny: "llm.requestModel == 'bad'" })
const REWRITTEN: Tree = { urlRewrite: { path: { full: '/v1/chat/completions' } } }
const MARKED: readonly (readonly [string, string])[] = [['x-a', '1']]
const DENIES_MARKED = rules({ deny: "request.headers['x-a'] == '1'" })

/** A path that a rule about models does not know becomes another one after a rewrite. */
const PATHS: readonly ProtocolAttack[] = (
  [
    ['urlRewrite', REWRITTEN],
    [
      'transformations',
      { transformations: { request: { set: { ':path': "'/v1/chat/completions'" } } } },
    ],
  ] as const
).map(([name, policies]) => ({
  name: `${name} makes calls to models of other requests`,
  old: (place) => routed(models(place, { policies: NO_BAD_MODEL })),
  now: (place) => routed(models(place, { policies: NO_BAD_MODEL }), policies),
  requests: [call('good', { target: '/chat' }), call('bad', { target: '/chat' }), call('good')],
}))

const NEEDLESS = rules(
  { deny: "llm.requestModel == 'x' && request.method == 'GET'" },
  { deny: "request.method == 'GET'" },
)

/** Nothing changes, and `lint --fix` must not change anything. */
const FIXED: readonly ProtocolAttack[] = [
  {
    name: 'a rule about models that denies nothing by itself keeps out what names none',
    old: (place) => routed(models(place, { policies: NEEDLESS })),
    now: (place) => routed(models(place, { policies: NEEDLESS })),
    requests: [{ method: 'POST', target: '/v1/files' }, {}, call('m')],
    isSame: true,
  },
]

/** A named backend that a policy calls, and its policies in the file. */
const asked = (address: string, policies: Tree, backend: Tree = {}): File => {
  return (place) => ({
    ...routed({ host: host(place) }, policies),
    backends: [{ name: 'asked', host: address, ...backend }],
  })
}
const CHECK: Tree = { extAuthz: { backend: 'asked', protocol: { http: {} } } }
const COUNT: Tree = {
  remoteRateLimit: {
    ...{ backend: 'asked', domain: 'd', failureMode: 'Deny' },
    descriptors: [{ entries: [{ key: 'k', value: "'v'" }] }],
  },
}

const ASKED: readonly ProtocolAttack[] = [
  {
    name: 'a service that is asked moves to where another one is',
    old: (place) => asked(host(place, 3), CHECK)(place),
    now: (place) => asked(place.rejecting, CHECK)(place),
    requests: [{}],
  },
  {
    name: 'a service that is asked cannot be reached by TLS',
    old: (place) => asked(host(place, 3), CHECK)(place),
    now: (place) => asked(host(place, 3), CHECK, { policies: { backendTLS: {} } })(place),
    requests: [{}],
  },
  {
    name: 'a service that counts moves, and nobody can tell what it says',
    old: (place) => asked(host(place, 3), COUNT)(place),
    now: (place) => asked(place.rejecting, COUNT)(place),
    requests: [{}],
    isSame: true,
    isUntold: true,
  },
]

const priced = (model: string): Tree => ({
  config: {
    modelCatalog: [
      {
        inline: {
          providers: { openai: { models: { [model]: { rates: { input: '1', output: '1' } } } } },
        },
      },
    ],
  },
})
const DOLLARS: Tree = { budgets: [{ usd: '5', per: 'Day' }] }
const CALLS: Tree = { budgets: [{ requests: 1_000_000, per: 'Day' }] }
const TOKENS: Tree = {
  localRateLimit: [
    { maxTokens: 1_000_000, tokensPerFill: 1_000, fillInterval: '1s', type: 'tokens' },
  ],
}

const BUDGETS: readonly ProtocolAttack[] = [
  {
    name: 'another model has a price, and a budget is in dollars',
    old: (place) => ({ ...priced('m'), ...routed(models(place), DOLLARS) }),
    now: (place) => ({ ...priced('n'), ...routed(models(place), DOLLARS) }),
    requests: [call('m'), call('n')],
  },
  {
    name: 'a rule goes where the model has no price',
    old: (place) => ({
      ...priced('n'),
      ...routed(models(place), { ...DOLLARS, ...DENIES_MARKED }),
    }),
    now: (place) => ({ ...priced('n'), ...routed(models(place), DOLLARS) }),
    requests: [call('n', { headers: MARKED }), call('m', { headers: MARKED })],
  },
  ...[CALLS, TOKENS].map(
    (limits, index): ProtocolAttack => ({
      name: `a rule goes where only calls to models can be counted, ${index}`,
      old: (place) => routed(models(place), { ...limits, ...DENIES_MARKED }),
      now: (place) => routed(models(place), limits),
      requests: [
        call('m', { headers: MARKED }),
        { headers: MARKED },
        { method: 'POST', target: '/v1/files' },
      ],
    }),
  ),
  {
    name: 'a rule about the path of calls goes, and a call has a body',
    old: (place) => routed(models(place), rules({ deny: "request.path.startsWith('/v1/chat')" })),
    now: (place) => routed(models(place)),
    requests: [call('m')],
  },
]

const SIGN_IN: Tree = {
  issuer: 'https://login.example.com',
  clientId: 'c',
  redirectUri: 'https://a.test/oauth2/callback',
  cookieSecret: '0'.repeat(64),
}

const SIGN_INS: readonly ProtocolAttack[] = [
  {
    name: 'nobody needs to sign in any more',
    old: (place) => routed({ host: host(place) }, { oidc: SIGN_IN }),
    now: (place) => routed({ host: host(place) }, { oidc: { ...SIGN_IN, mode: 'Optional' } }),
    requests: [{}],
  },
]

export const tools = (
  { tools: address }: Addresses,
  more: Tree = {},
  policies: Tree = {},
): Tree => ({
  mcp: { targets: [{ name: 'one', mcp: { host: address, path: '/mcp' } }], ...more },
  policies,
})
const message = (method: string, params: object, headers: SentRequest['headers'] = []) => ({
  method: 'POST',
  target: '/mcp',
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  headers: [
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
    ...headers,
  ] as SentRequest['headers'] & object,
})
export const toolCall = (name: string, headers: SentRequest['headers'] = []) =>
  message('tools/call', { name, arguments: {} }, headers)

const TOOLS: readonly ProtocolAttack[] = [
  {
    name: 'a rule about requests to tools goes',
    old: (place) => routed(tools(place), DENIES_MARKED),
    now: (place) => routed(tools(place)),
    requests: [
      toolCall('read', MARKED),
      { method: 'GET', target: '/mcp', headers: [['accept', 'a/b']] },
      { method: 'PUT', target: '/mcp' },
      { method: 'DELETE', target: '/mcp' },
      {
        ...toolCall('read'),
        headers: [
          ['content-type', 'text/plain'],
          ['accept', '*/*'],
        ],
      },
      {
        ...toolCall('read'),
        headers: [
          ['content-type', 'application/json'],
          ['accept', 'a/b'],
        ],
      },
      { ...toolCall('read'), target: '/.well-known/mcp' },
    ],
  },
  {
    name: 'rules about tools read what a transformation sets',
    old: (place) =>
      routed(
        tools(
          place,
          {},
          {
            transformations: { request: { metadata: { team: "'eng'" } } },
            mcpAuthorization: { rules: [{ allow: "metadata.team == 'eng'" }] },
          },
        ),
      ),
    now: (place) =>
      routed(
        tools(
          place,
          {},
          {
            transformations: { request: { metadata: { team: "'ops'" } } },
            mcpAuthorization: { rules: [{ allow: "metadata.team == 'eng'" }] },
          },
        ),
      ),
    requests: [toolCall('read')],
  },
]

export const agent = (place: Addresses, ...own: readonly Tree[]): Tree => ({
  host: host(place),
  policies: { a2a: {}, ...rules(...own) },
})
const NO_CARD = { deny: "a2a.method == 'GetAgentCard'" }
export const toAgent = (method: string): SentRequest => ({
  method: 'POST',
  headers: [['content-type', 'application/json']],
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id: '1' } }),
})

const AGENTS: readonly ProtocolAttack[] = [
  {
    name: 'a path is rewritten to one that means something to agents',
    old: (place) => routed(agent(place, NO_CARD)),
    now: (place) =>
      routed(agent(place, NO_CARD), {
        urlRewrite: { path: { full: '/.well-known/agent-card.json' } },
      }),
    requests: [{ target: '/x' }, { target: '/.well-known/agent-card.json' }],
  },
  {
    name: 'a rule is about another method of agents',
    old: (place) => routed(agent(place, { deny: "a2a.method == 'GetTask'" })),
    now: (place) => routed(agent(place, { deny: "a2a.method == 'CancelTask'" })),
    requests: [
      toAgent('tasks/get'),
      toAgent('tasks/cancel'),
      { ...toAgent(''), body: 'no message' },
      { ...toAgent(''), body: '{"jsonrpc":"2.0","id":1}' },
    ],
  },
]

const METADATA: Tree = {
  issuer: 'https://i.test',
  audiences: ['http://a.test/'],
  jwks: { file: 'keys.json' },
}

const PAGES: readonly ProtocolAttack[] = [
  {
    name: 'metadata about a resource is no longer public',
    old: (place) =>
      routed(
        { host: host(place) },
        { jwtAuthentication: { ...METADATA, resourceMetadata: { resource: 'http://a.test/' } } },
      ),
    now: (place) => routed({ host: host(place) }, { jwtAuthentication: METADATA }),
    requests: [
      { target: '/.well-known/oauth-protected-resource' },
      { target: '/.well-known/oauth-authorization-server' },
      { target: '/.well-known/other' },
      {},
    ],
  },
]

export const PROTOCOL_ATTACKS: readonly ProtocolAttack[] = [
  ...FIXED,
  ...PATHS,
  ...ASKED,
  ...BUDGETS,
  ...SIGN_INS,
  ...TOOLS,
  ...AGENTS,
  ...PAGES,
]
