import type { Tree } from './document.ts'
import type { Random } from './random.ts'

/*
 * Parts of a file that decide about calls of tools, agents and models, or count requests. A pair
 * differs in exactly one of them.
 */

export interface ProtocolRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ProtocolPart {
  /** The settings of a route besides its name and hostname. */
  draw(random: Random, host: string): Tree
  readonly requests: readonly ProtocolRequest[]
}

const rpc = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const tool = (name: string, given: object = {}): ProtocolRequest => ({
  method: 'POST',
  path: '/mcp',
  body: rpc('tools/call', { name, arguments: given }),
})

const TOOLS = ['a', 'ab', 'b', 'one_a', 'two_a', 'one_b', 'two_b'] as const
export const OFFERED = ['a', 'ab', 'b'] as const

const TOOL_CONDITIONS = [
  "mcp.tool.name == 'a'",
  "mcp.tool.name in ['a', 'b']",
  "mcp.tool.name.startsWith('a')",
  "mcp.tool.target == 'one'",
  "mcp.methodName == 'tools/list'",
  "mcp.tool.arguments.x == 'y'",
  "!has(mcp.tool) || mcp.tool.name != 'b'",
  "request.headers['x-a'] == '1'",
  "mcp.tool.name == 'a' && request.headers['x-a'] == '1'",
  'true',
] as const

const MODEL_CONDITIONS = [
  "llm.requestModel == 'm'",
  "llm.provider == 'one'",
  "llm.requestModel.startsWith('m')",
  "request.headers['x-a'] == '1'",
  'true',
] as const

const AGENT_CONDITIONS = [
  "a2a.method == 'GetAgentCard'",
  "a2a.method == 'GetTask'",
  "a2a.binding == 'JSONRPC'",
  'has(a2a.taskId)',
  'true',
] as const

const ruled = (random: Random, conditions: readonly string[]): Tree => ({
  rules: Array.from({ length: 1 + random.int(2) }, () => ({
    [random.pick(['deny', 'allow', 'require'])]: random.pick(conditions),
  })),
})

/** Occasionally returns none. */
const perhaps = (random: Random, share: number, policies: () => Tree): Tree =>
  random.chance(share) ? policies() : {}

const guards = (random: Random): Tree => ({
  guardrails: {
    request: [
      {
        regex: {
          action: random.pick(['Mask', 'Reject']),
          rules: [random.pick<Tree>([{ builtin: 'email' }, { pattern: 'y+' }])],
        },
      },
    ],
  },
})

const chat = (model: string, content = 'hello'): ProtocolRequest => ({
  method: 'POST',
  path: '/v1/chat/completions',
  body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
})
const messages: ProtocolRequest = {
  method: 'POST',
  path: '/v1/messages',
  body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }),
  headers: { 'anthropic-version': '2023-06-01' },
}
const EMBEDDINGS: ProtocolRequest = { method: 'POST', path: '/v1/embeddings', body: '{}' }
const plain = (length: number): ProtocolRequest => ({
  ...{ method: 'POST', path: '/', body: 'x'.repeat(length) },
})

/** The forwarded path decides which requests are calls. */
const rewritten = (random: Random): Tree => {
  const path = random.pick([
    '/v1/chat/completions',
    '/v1/files',
    '/.well-known/agent-card.json',
    '/x',
  ])
  return random.chance(0.5)
    ? { urlRewrite: { path: { full: path } } }
    : { transformations: { request: { set: { ':path': `'${path}'` } } } }
}

const withHeader = (request: ProtocolRequest): ProtocolRequest => ({
  ...request,
  headers: { ...request.headers, 'x-a': '1' },
})

export const PROTOCOL_PARTS: Readonly<Record<string, ProtocolPart>> = {
  tools: {
    draw: (random, host) => {
      const names = random.chance(0.6) ? ['one', 'two'] : [random.pick(['one', 'two'])]
      const targets = names.map((name) => ({ name, mcp: { host, path: '/mcp' } }))
      const prefix = perhaps(random, 0.3, () => ({
        prefixMode: random.pick(['Always', 'Conditional']),
      }))
      const rules = () => ({ mcpAuthorization: ruled(random, TOOL_CONDITIONS) })
      return {
        policies: { ...perhaps(random, 0.4, rules), ...perhaps(random, 0.2, () => guards(random)) },
        backends: [{ mcp: { targets, ...prefix }, policies: perhaps(random, 0.6, rules) }],
      }
    },
    requests: [
      ...TOOLS.flatMap((name) => [tool(name), withHeader(tool(name))]),
      tool('a', { x: 'y' }),
      tool('one_a', { x: 'y' }),
      tool('a', { mail: 'a@b.co' }),
      { method: 'POST', path: '/mcp', body: rpc('tools/list', {}) },
      withHeader({ method: 'POST', path: '/mcp', body: rpc('tools/list', {}) }),
      { method: 'POST', path: '/mcp', body: rpc('ping', {}) },
    ],
  },
  agents: {
    draw: (random, host) => ({
      policies: {
        ...perhaps(random, 0.3, () => ({
          authorization: ruled(random, [
            "request.method == 'GET'",
            "request.headers['x-a'] == '1'",
          ]),
        })),
        ...perhaps(random, 0.2, () => rewritten(random)),
      },
      backends: [
        {
          host,
          policies: perhaps(random, 0.7, () => ({
            a2a: perhaps(random, 0.4, () => ({ publicUrl: 'https://agents.test' })),
            ...perhaps(random, 0.5, () => ({ authorization: ruled(random, AGENT_CONDITIONS) })),
          })),
        },
      ],
    }),
    requests: [
      { method: 'GET', path: '/.well-known/agent-card.json' },
      { method: 'POST', path: '/', body: rpc('message/send', { message: { parts: [] } }) },
      { method: 'POST', path: '/', body: '{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}' },
      { method: 'POST', path: '/', body: 'no JSON' },
      withHeader({ method: 'POST', path: '/', body: rpc('tasks/get', { id: '1' }) }),
    ],
  },
  models: {
    draw: (random, host) => {
      const provider = {
        name: random.pick(['one', 'two']),
        provider: {
          [random.pick(['openAI', 'anthropic'])]: perhaps(random, 0.3, () => ({ model: 'n' })),
        },
        hostOverride: host,
        ...perhaps(random, 0.4, () => ({
          policies: { authorization: ruled(random, MODEL_CONDITIONS) },
        })),
      }
      return {
        policies: {
          ...perhaps(random, 0.2, () => guards(random)),
          ...perhaps(random, 0.2, () => rewritten(random)),
          ...perhaps(random, 0.2, () => ({
            budgets: [{ requests: 1 + random.int(30), per: 'Hour' }],
          })),
        },
        backends: [{ ai: { groups: [{ providers: [provider] }] } }],
      }
    },
    requests: [
      ...[chat('m'), chat('n'), chat(''), chat('m', 'a@b.co'), chat('m', 'yyy'), messages],
      ...[withHeader(chat('m')), withHeader(messages), EMBEDDINGS],
      { method: 'GET', path: '/v1/models' },
    ],
  },
  /** No client has a session. */
  signIn: {
    draw: (random, host) => ({
      policies: {
        ...perhaps(random, 0.8, () => ({
          oidc: {
            issuer: 'https://login.test',
            clientId: random.pick(['one', 'two']),
            redirectUri: 'https://protocol.test/oauth2/callback',
            cookieSecret: '0'.repeat(64),
            mode: random.pick(['Strict', 'Optional']),
          },
        })),
        ...perhaps(random, 0.4, () => ({
          authorization: ruled(random, [
            'has(jwt.sub)',
            "jwt.sub == 'alice'",
            "request.method == 'GET'",
            "request.headers['x-a'] == '1'",
          ]),
        })),
      },
      backends: [{ host }],
    }),
    requests: [
      { method: 'GET', path: '/' },
      { method: 'GET', path: '/', headers: { 'x-a': '1', accept: 'text/html' } },
      plain(1),
      withHeader(plain(1)),
      { method: 'GET', path: '/oauth2/login' },
    ],
  },
  limits: {
    draw: (random, host) => ({
      policies: {
        ...perhaps(random, 0.7, () => ({
          localRateLimit: { requests: 1 + random.int(4), unit: 'Minutes' },
        })),
        ...perhaps(random, 0.5, () => ({
          buffer: { request: { maxBytes: random.pick(['1Ki', '4Ki', '64Ki']) } },
        })),
        ...perhaps(random, 0.3, () => ({ timeout: { request: random.pick(['30s', '60s']) } })),
      },
      backends: [{ host }],
    }),
    requests: [plain(1), plain(3_000), plain(1), plain(9_000), plain(1)],
  },
}
