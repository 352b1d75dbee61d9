import type { Tree } from './document.ts'
import { type Place, settings } from './generate.ts'
import type { Random } from './random.ts'

/** Files that serve tools. Nothing here knows how messages are evaluated. */

export const SERVERS = ['files', 'search', 'notes']
export const NAMES = ['read', 'write', 'list', 'other', 'readme']
const PATHS = ['/srv', '/srv/a', '/s', '/etc']
const quote = (text: string) => `'${text}'`

export function toolDocument(random: Random, place: Place): Tree {
  const isNamed = random.chance(0.3)
  const isLocal = random.chance(0.15)
  const backend = toolBackend(random, place, isLocal)
  const inline = isNamed ? { backend: 'tools' } : backend
  const policies = {
    ...traffic(random, 0.2),
    ...(random.chance(0.3) ? { mcpAuthorization: messageRules(random) } : {}),
  }
  const api: Tree = {
    name: 'api',
    ...(random.chance(0.2) ? { matches: [{ path: { pathPrefix: '/mcp' } }] } : {}),
    ...(Object.keys(policies).length === 0 ? {} : { policies }),
    backends: [inline],
  }
  const plain = {
    name: 'plain',
    hostnames: ['plain.test'],
    backends: [{ host: hostAt(place, 7) }],
  }
  const gateway = {
    port: place.ports[0] as number,
    ...(isLocal ? { hostname: 'localhost' } : {}),
    ...traffic(random, 0.06),
  }
  const attached = random.chance(0.12) ? [attachedRules(random, isNamed)] : []
  return {
    config: settings([]),
    gateways: { default: gateway },
    routes: isLocal ? [api] : [api, plain],
    ...(isNamed ? { backends: [{ name: 'tools', ...backend }] } : {}),
    ...(attached.length === 0 ? {} : { policies: attached }),
  }
}

const hostAt = ({ backends }: Place, index: number) =>
  `127.0.0.1:${backends[index % backends.length]}`

function toolBackend(random: Random, place: Place, isLocal: boolean): Tree {
  const count = random.pick([1, 1, 2, 2, 3])
  const prefixMode = random.chance(0.2) ? { prefixMode: random.pick(PREFIX_MODES) } : {}
  const policies = random.chance(0.6)
    ? { policies: { mcpAuthorization: messageRules(random) } }
    : {}
  return {
    mcp: {
      targets: Array.from({ length: count }, (_, index) => target(random, place, index)),
      ...(random.chance(0.2) ? { statefulMode: 'Stateless' } : {}),
      ...prefixMode,
      // Examples are for any host and client; here, all clients are on this machine.
      ...(isLocal ? {} : { dnsRebindingProtection: false }),
    },
    ...policies,
  }
}

export const PREFIX_MODES = ['Always', 'Never', 'Conditional']

export function target(random: Random, place: Place, index: number): Tree {
  const own = random.chance(0.2) ? { policies: { mcpAuthorization: messageRules(random) } } : {}
  const pins = random.chance(0.3) ? { pins: pinned(random) } : {}
  return {
    name: SERVERS[index] as string,
    mcp: { host: hostAt(place, index) },
    ...pins,
    ...own,
  }
}

/** One file has the pins of all tools; the other lacks one, and another differs. */
export function pinned(random: Random): Tree {
  const mode = random.chance(0.5) ? { mode: 'Audit' } : {}
  return { file: random.chance(0.7) ? 'pins.json' : 'old-pins.json', ...mode }
}

function attachedRules(random: Random, isNamed: boolean): Tree {
  const target = random.pick<Tree>([
    ...(isNamed ? [{ backend: 'tools' }] : []),
    { route: 'api' },
    { gateway: 'default' },
  ])
  return { name: 'more', target, backend: { mcpAuthorization: messageRules(random) } }
}

function traffic(random: Random, share: number): Tree {
  if (!random.chance(share)) return {}
  return { authorization: { rules: [rule(random, random.pick(TRAFFIC))] } }
}

export const TRAFFIC = [
  "request.headers['x-a'] == '1'",
  "request.method == 'POST'",
  "request.path.startsWith('/mcp')",
  "'x-a' in request.headers",
]

export function messageRules(random: Random): Tree {
  const mode: Tree = random.chance(0.05) ? { mode: 'Audit' } : {}
  const count = 1 + random.int(3)
  return { ...mode, rules: Array.from({ length: count }, () => rule(random, condition(random))) }
}

export function rule(random: Random, text: string): Tree {
  return { [random.pick(['allow', 'allow', 'allow', 'require', 'deny', 'deny'])]: text }
}

function atom(random: Random): string {
  const name = quote(random.pick(NAMES))
  return random.pick([
    () => `mcp.tool.name == ${name}`,
    () => `mcp.tool.name == ${name}`,
    () => `mcp.tool.name != ${name}`,
    () => `mcp.tool.name in [${random.some(NAMES, 2).map(quote).join(', ')}]`,
    () => `mcp.tool.name.startsWith(${quote(random.pick(['re', 'w', 'read']))})`,
    () => `mcp.tool.target == ${quote(random.pick(SERVERS))}`,
    () => `mcp.tool.arguments.path == ${quote(random.pick(PATHS))}`,
    () => `mcp.tool.arguments.path.startsWith(${quote(random.pick(PATHS))})`,
    () => `mcp.tool.arguments.count ${random.pick(['<', '>='])} ${random.pick(['3', '10'])}`,
    () => "'path' in mcp.tool.arguments",
    () => 'has(mcp.tool.arguments.path)',
    () => 'has(mcp.tool)',
    () => '!has(mcp.tool)',
    () => `mcp.prompt.name == ${quote(random.pick(['p', 'q']))}`,
    () => `mcp.resource.name == ${quote(random.pick(['r', 's']))}`,
    () => `has(mcp.${random.pick(['prompt', 'resource'])})`,
    () => `mcp.methodName ${random.pick(['==', '!='])} ${quote(random.pick(METHODS))}`,
    () => `mcp.methodName.startsWith('${random.pick(['tools/', 'notifications/'])}')`,
    () => "request.headers['x-a'] == '1'",
    () => "'x-a' in request.headers",
  ])()
}

/** The first ones are what rules name. */
export const METHODS = [
  'tools/call',
  'tools/list',
  'ping',
  'initialize',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'logging/setLevel',
]

export function condition(random: Random): string {
  const roll = random.next()
  if (roll < 0.6) return atom(random)
  if (roll < 0.68) return `!(${atom(random)})`
  return `${atom(random)} ${random.pick(['&&', '&&', '||'])} ${atom(random)}`
}

/** A message to a server of these files. */
export function toolRequest(
  random: Random,
  trees: readonly Tree[],
): {
  readonly method: string
  readonly target: string
  readonly headers: [string, string][]
  readonly body: string
} {
  const texts = [...JSON.stringify(trees).matchAll(/'([^']*)'/g)].map(([, text = '']) => text)
  const near = (fallback: readonly string[]) => {
    const text = random.chance(0.4) && texts.length > 0 ? random.pick(texts) : random.pick(fallback)
    return random.chance(0.08) ? `${text}x` : text
  }
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', 'application/json, text/event-stream'],
  ]
  if (random.chance(0.5)) headers.push(['x-a', random.pick(['1', '2'])])
  const prefixed = (name: string, sign: string) =>
    random.chance(0.55) ? `${random.pick(SERVERS)}${sign}${name}` : name
  const [method, params] = random.pick<() => readonly [string, Tree?]>([
    ...Array.from({ length: 9 }, () => () => {
      const name = prefixed(near(NAMES), '_')
      const roll = random.next()
      if (roll < 0.15) return ['tools/call', { name }] as const
      if (roll < 0.2) return ['tools/call', { name, arguments: 5 }] as const
      const values: Tree = {
        ...(random.chance(0.7) ? { path: random.chance(0.9) ? near(PATHS) : 7 } : {}),
        ...(random.chance(0.5) ? { count: random.pick([1, 2, 3, 4, 9, 10, 11]) } : {}),
      }
      return ['tools/call', { name, arguments: values }] as const
    }),
    ...Array.from({ length: 3 }, () => () => ['tools/list', {}] as const),
    () => ['prompts/get', { name: prefixed(near(['p', 'q', 'x']), '_') }],
    () => ['resources/read', { uri: prefixed(near(['r', 's', 'x']), '+') }],
    () => ['resources/subscribe', { uri: prefixed(near(['r', 's']), '+') }],
    () => [
      'completion/complete',
      {
        ref: { type: 'ref/prompt', name: prefixed(near(['p', 'q']), '_') },
        argument: { name: 'a', value: 'b' },
      },
    ],
    () => [random.pick(['prompts/list', 'resources/list', 'resources/templates/list']), {}],
    () => [random.pick(METHODS), {}],
    () => ['ping'],
    () => ['initialize', HANDSHAKE],
    () => [random.pick(['unknown', 'no/such', 'tasks/list']), {}],
    () => [random.pick(['notifications/initialized', 'notifications/cancelled'])],
  ])()
  const id = method.startsWith('notifications/') ? {} : { id: 1 }
  const message = { jsonrpc: '2.0', ...id, method, ...(params === undefined ? {} : { params }) }
  return { method: 'POST', target: '/mcp', headers, body: JSON.stringify(message) }
}

const HANDSHAKE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'client', version: '1' },
}
