import { type Attack, filled } from './attacks.ts'

/* Bodies of calls to models, tools and agents, which the gateway reads even if no rule does. */

const BODY = 2 << 20

const modelsAt = (host: string, provider = 'openAI') => ({
  ai: {
    groups: [{ providers: [{ name: 'one', provider: { [provider]: {} }, hostOverride: host }] }],
  },
})
const toolsAt = (path: string) => (host: string) => ({
  mcp: { targets: [{ name: 'one', mcp: { host, path } }] },
})

const guards = (...rules: readonly object[]) => ({
  guardrails: { request: [{ regex: { rules } }] },
})
const BUILT_IN = guards(
  ...['email', 'apiKey', 'iban', 'creditCard', 'ssn', 'caSin', 'phoneNumber'].map((builtin) => ({
    builtin,
  })),
)

const prompt = (content: string) =>
  `{"model":"m","messages":[{"role":"user","content":"${content}"}]}`
const promptOf = (unit: string, max = BODY) =>
  prompt(filled('', () => unit, '', max - prompt('').length))
const callOf = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${args}}}`

const COMPLETIONS = '/v1/chat/completions'
const json = { 'content-type': 'application/json' }
const mcp = { ...json, accept: 'application/json, text/event-stream' }

const wide = (before: string, after: string, max = BODY) =>
  filled(before, (n) => `,"a${n}":1`, after, max)
const DEEP = `${'['.repeat(180)}"a"${']'.repeat(180)}`

const bodies: readonly (readonly [string, string])[] = [
  ['a long prompt', promptOf('some words and more of them. ')],
  ['members that nobody met before', wide('{"model":"m","messages":[],"x":{"a":1', '}}')],
  ['lists', filled('{"model":"m","messages":[],"x":[0', () => ',[]', ']}')],
  [
    'numbers of 19 digits',
    filled('{"model":"m","messages":[],"x":[0', () => ',1234567890123456789', ']}'),
  ],
  [
    'escaped names',
    filled('{"model":"m","x":{"a":1', (n) => `,"\\u0061${n}":1`, '},"messages":[]}'),
  ],
  ['deep lists', filled('{"model":"m","messages":[],"x":[0', () => `,${DEEP}`, ']}')],
  [
    'messages',
    filled(
      '{"model":"m","messages":[{"role":"user","content":""}',
      () => ',{"role":"user","content":"a"}',
      ']}',
    ),
  ],
  [
    'tools',
    filled(
      '{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"a"}}',
      (n) => `,{"type":"function","function":{"name":"a${n}","parameters":{"type":"object"}}}`,
      ']}',
    ),
  ],
  ['escapes', promptOf('\\n')],
]

const LIST_OF_TOOLS = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: {
    tools: Array.from({ length: 10_000 }, (_, n) => ({
      name: `tool-${n}`,
      description: 'Does what its name says.',
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
    })),
  },
})

/** The response of the bench backend: a list of tools for list paths, little for others. */
export function responseTo(url: string): { readonly type: string; readonly text: string } {
  if (url.startsWith('/list')) return { type: 'application/json', text: LIST_OF_TOOLS }
  return { type: 'text/plain', text: 'ok' }
}

export const PROTOCOL_ATTACKS: readonly Attack[] = [
  ...bodies.map(([name, body]) => ({
    name: `a call to a model: ${name}`,
    backendOf: modelsAt,
    ...{ path: COMPLETIONS, headers: json, body },
  })),
  ...bodies.map(([name, body]) => ({
    name: `the same translated: ${name}`,
    backendOf: (host: string) => modelsAt(host, 'anthropic'),
    ...{ path: COMPLETIONS, headers: json, body },
  })),
  ...(
    [
      ['words', 'some words and more of them. '],
      ['addresses of mail', 'a@b.co '],
      ['digits', '1 '],
      ['what is nearly a card', '4111 1111 1111 1112 '],
      ['what is nearly an address', 'aaaaaaaaaaaaaaaa@aaaaaaaa-'],
    ] as const
  ).map(([name, unit]) => ({
    name: `all guards on a prompt: ${name}`,
    ...{ backendOf: modelsAt, isReadAnyway: true as const },
    policies: BUILT_IN,
    ...{ path: COMPLETIONS, headers: json, body: promptOf(unit) },
  })),
  ...(['(a|b)*c', 'a(.*b)?', '(x+x+)+y', '[a-z]{1,200}!'] as const).map((pattern) => ({
    name: `a guard with ${pattern}`,
    ...{ backendOf: modelsAt, isReadAnyway: true as const },
    policies: guards({ pattern }),
    ...{ path: COMPLETIONS, headers: json, body: promptOf(pattern.startsWith('(x') ? 'x' : 'a') },
  })),
  ...(
    [
      ['a wide object', wide('{"a":1', '}', BODY - 200)],
      ['deep lists', filled('[0', () => `,${DEEP}`, ']', BODY - 200)],
      ['a long text', filled('"', () => 'some words ', '"', BODY - 200)],
    ] as const
  ).flatMap(([name, args]) => [
    {
      name: `a call to a tool: ${name}`,
      backendOf: toolsAt('/mcp'),
      ...{ path: '/mcp', headers: mcp, body: callOf(args) },
    },
    {
      name: `a call to a tool with all guards: ${name}`,
      ...{ backendOf: toolsAt('/mcp'), isReadAnyway: true as const },
      policies: BUILT_IN,
      ...{ path: '/mcp', headers: mcp, body: callOf(args) },
    },
  ]),
  {
    name: 'a list of 10,000 tools, filtered',
    isOfServer: true,
    backendOf: (host) => ({
      ...toolsAt('/list')(host),
      policies: { mcpAuthorization: { rules: [{ deny: "mcp.tool.name.endsWith('7')" }] } },
    }),
    ...{ path: '/list', headers: mcp },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  },
  ...(
    [
      ['a wide object', wide('{"a":1', '}', BODY - 200)],
      ['deep lists', filled('[0', () => `,${DEEP}`, ']', BODY - 200)],
    ] as const
  ).map(([name, data]) => ({
    name: `a message to an agent: ${name}`,
    backendOf: (host: string) => ({ host, policies: { a2a: {} } }),
    ...{ path: '/', headers: json },
    body: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"data":${data}}}}`,
  })),
]
