import { becauseOf } from '../../../src/analysis/decisions/because.ts'
import { exampleCall, shownArguments } from '../../../src/analysis/decisions/example-call.ts'
import type { Attribute, Decision } from '../api/shapes.ts'

/** Causes that follow from the configuration and the request alone: a test meets them again. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'no-route',
  'no-backend',
  'direct-response',
  'invalid-configuration',
  'invalid-backend',
])

/** Kinds of tokens by what was wrong with the recorded one. */
const TOKENS: Readonly<Record<string, string>> = {
  expired: 'expired',
  'not-yet-valid': 'early',
  'unknown-kid': 'unknown-key',
  'bad-signature': 'forged',
}

/**
 * Builds a file for `portcullis test` from what the records show of the request. Undefined if a test
 * cannot repeat it: it depended on other requests, on a backend, or on what is never recorded.
 */
export function testFileOf(decisions: readonly Decision[]): string | undefined {
  const own = decidingOf(decisions)
  if (own?.method === undefined || !isRepeatable(own)) return undefined
  const { method, path = '/', host, source, route, gateway, listener } = own
  const attributes = decisions.flatMap((one) => one.attributes)
  const withheld = attributes.filter(({ state }) => state !== 'shown' && state !== 'unset')
  const address = source.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  const { headers: more = {}, body } = exampleCall(own) ?? {}
  const mcp = mcpOf(own, attributes)
  const headers = new Map([
    ...(mcp === undefined ? Object.entries(more) : []),
    ...named(attributes, /^request\.headers(?:\['([^']+)'\]|\.([a-zA-Z_][\w]*))$/),
  ])
  const token = TOKENS[own.reason ?? '']
  const claims = claimsOf(own, attributes, token)
  return [
    `name: ${quote(`${method} ${path}${route === undefined ? '' : ` on ${route}`}`)}`,
    'config: gateway.yaml # the file of the gateway',
    'requests:',
    `  - listener: ${quote(listener === undefined ? gateway : `${gateway}/${listener}`)}`,
    ...(mcp === undefined ? [`    method: ${quote(method)}`] : []),
    `    path: ${quote(path)}`,
    ...(host === undefined ? [] : [`    host: ${quote(host)}`]),
    ...(address === '127.0.0.1' ? [] : [`    from: ${quote(address)}`]),
    ...mapping('headers', headers),
    ...(claims === undefined ? [] : [`    as: ${quote(claims)}`]),
    ...(token === undefined ? [] : [`    token: ${token}`]),
    ...(mcp === undefined ? [] : [`    mcp: ${quote(mcp)}`]),
    ...(mcp !== undefined || body === undefined ? [] : [`    body: ${quote(body)}`]),
    ...withheld.map(({ name, state }) => `    # ${oneLine(name)} is ${oneLine(state)}: set it`),
    `    expect: ${quote(expectationOf(own, mcp !== undefined))}`,
    '',
  ].join('\n')
}

/** What made the response: the enforced denial or the rejection; otherwise, the last decision. */
function decidingOf(decisions: readonly Decision[]): Decision | undefined {
  const made = decisions.filter(({ skipped, enforced }) => skipped !== true && enforced)
  return (
    made.find(({ verdict }) => verdict === 'denied') ??
    made.find(({ verdict }) => verdict === 'rejected') ??
    decisions.at(-1)
  )
}

function isRepeatable({ kind, cause, reason = '', credentials }: Decision): boolean {
  if (kind === 'rejection') return REPEATABLE.has(cause)
  if (kind === 'csrf') return false
  if (kind !== 'authentication' || reason === 'missing') return true
  return credentials?.method === 'jwt' && TOKENS[reason] !== undefined
}

/** A tool, prompt or resource is listed and called by its name. */
function mcpOf({ call, path, attributes: own }: Decision, attributes: readonly Attribute[]) {
  const kinds = { 'tools/call': 'tool', 'prompts/get': 'prompt', 'resources/read': 'resource' }
  const kind = kinds[call?.method as keyof typeof kinds]
  if (call?.protocol !== 'mcp' || kind === undefined || call.name === undefined) return undefined
  const given = shownArguments({ path, call, attributes: [...own, ...attributes] })
  const hasArguments = kind !== 'resource' && Object.keys(given).length > 0
  return { [kind]: call.name, ...(hasArguments ? { arguments: given } : {}) }
}

/** A verified token is needed even if the record shows none of its claims. */
function claimsOf(
  { identified = [], credentials }: Decision,
  attributes: readonly Attribute[],
  token: string | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const claims = Object.fromEntries(named(attributes, /^jwt\.([\w.]+)$/))
  const wasVerified = identified.some(({ variable }) => variable === 'jwt')
  const isSent = wasVerified || token !== undefined || Object.keys(claims).length > 0
  return isSent && credentials?.method !== 'api-key' ? claims : undefined
}

/** With the reason, so that the test fails if another rule denies the request. */
function expectationOf(own: Decision, isMcp: boolean) {
  const { verdict, enforced, rule, by, stage, status } = own
  if (verdict === 'allowed' || !enforced) return isMcp ? 'admitted' : (status ?? 200)
  const policy = (rule ?? by)?.policy
  return {
    // Clients of MCP get denials as errors in JSON-RPC.
    ...(isMcp || status === undefined ? {} : { status }),
    because: becauseOf(own),
    ...(policy === undefined ? {} : { policy }),
    ...(stage === 'llm' ? {} : { stage }),
  }
}

function named(attributes: readonly Attribute[], form: RegExp): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { name, state, value } of attributes) {
    const [, first, second] = form.exec(name) ?? []
    const key = first ?? second
    if (key !== undefined && state === 'shown') found.set(key, value)
  }
  return found
}

function mapping(key: string, entries: ReadonlyMap<string, unknown>): readonly string[] {
  if (entries.size === 0) return []
  const lines = [...entries].map(([name, value]) => `      ${quote(name)}: ${quote(value)}`)
  return [`    ${key}:`, ...lines]
}

/** Quotes a value as JSON, which is valid YAML and which client input cannot break out of. */
function quote(value: unknown): string {
  return JSON.stringify(value)
}

function oneLine(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
