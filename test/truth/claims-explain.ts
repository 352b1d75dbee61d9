import { areaOf } from './areas.ts'
import { CERTIFICATES, claimsIn, isOutOfTime } from './credentials.ts'
import { type Tree, walk } from './document.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import { forwardedFor, gatewayAt, hopsOf, proxyProtocolOf } from './places.ts'
import { describeProbe, portsOf } from './probes.ts'
import { sharesIn } from './shares.ts'
import { isAdmitted, isPreflight, type Outcome, type Probe, sentName } from './wire.ts'

const ASKED = 2

/** `portcullis explain`: its exit code matches the behavior of the gateway. */
export const checkExplain: Check = async (pair) => {
  const claims: FalseClaim[] = []
  for (const side of [pair.old, pair.now]) {
    const able = [...pair.probes.keys()].filter((index) => isExplainable(pair, side, index))
    for (const index of pair.random.some(able, ASKED)) {
      const probe = pair.probes[index] as Probe
      const outcome = side.outcomes[index] as Outcome
      const args = argsFor(side, probe)
      if (args === undefined) continue
      const { code, out, err } = await pair.tools(args)
      // The verdict of a service is unknown, so no statement can be false.
      if (code === 3) {
        pair.count('explain not known')
        continue
      }
      pair.count('explain')
      const listed = await listClaim(pair, args, outcome)
      if (listed !== undefined) claims.push({ ...listed, probe: describeProbe(probe) })
      if ((code === 0) === (isAdmitted(outcome) || isPreflight(outcome))) continue
      const [first] = `${out}${err}`.split('\n')
      const claim = `explain: exit code ${code} (${first}) for ${args.slice(3).join(' ')}`
      const observed = `${side.name} responds with ${outcome.status}`
      claims.push({ kind: 'explain', claim, observed, probe: describeProbe(probe) })
    }
  }
  return claims
}

/** The tools of servers with pins are known: their states match what a client sees. */
async function listClaim(
  { tools, count }: Pair,
  args: readonly string[],
  { listed }: Outcome,
): Promise<FalseClaim | undefined> {
  // Without a list, rules of another stage denied the request.
  if (listed === undefined) return undefined
  if (!args.some((text) => text.includes('"method":"tools/list"'))) return undefined
  const { out } = await tools([...args, '--json'])
  const { tools: shown = [] } = JSON.parse(out) as { readonly tools?: readonly ShownTool[] }
  const wrong = shown.find(({ tool, state }) => {
    // `write` may differ from its pin, and such a tool is hidden whatever the rules are.
    const isListed = listed.includes(`tools ${tool}`)
    return tool.endsWith('write')
      ? isListed && state === 'hidden'
      : isListed !== (state === 'shown')
  })
  count('explain of lists')
  if (wrong === undefined) return undefined
  const claim = `explain: tool ${wrong.tool} is ${wrong.state}`
  return { kind: 'explain list', claim, observed: listed.join(', ') }
}

interface ShownTool {
  readonly tool: string
  readonly state: 'shown' | 'hidden'
}

/** Whether the options of the command can express the whole request. */
function isExplainable(pair: Pair, { tree, outcomes }: Side, index: number): boolean {
  const { transport, request } = pair.probes[index] as Probe
  // Without a body, it is unknown what is called.
  const isCalled = ['LLM', 'MCP'].includes(areaOf(tree)) && request.method === 'POST'
  if (isCalled && request.body === undefined) return false
  const { status } = outcomes[index] as Outcome
  const { port, proxy, tls } = transport
  const own = portsOf(tree).find((one) => one.port === port)
  const proxied = proxyProtocolOf(tree)
  if (own === undefined) return false
  if (own.isSecure !== (tls !== undefined) || (proxied === undefined) !== (proxy === undefined)) {
    return false
  }
  const version = proxied?.['version'] ?? 'V2'
  if (proxy !== undefined && version !== 'All' && version !== `V${proxy.version}`) return false
  if ((request.token ?? 'valid') !== 'valid' || isOutOfTime(request.claims)) return false
  if (tls?.certificate === 'stranger') return false
  const text = JSON.stringify(tree)
  // Another certificate than that of the requested name: unrelated to rules.
  if (status === 421) return false
  return !/source\.subject/.test(text)
}

function argsFor({ tree, file }: Side, probe: Probe): string[] | undefined {
  const { transport, request, share } = probe
  const { method, target, version, host, headers, claims, apiKey, body } = request
  const spoken = transport.isHttp2 ? ' HTTP/2' : version === '1.1' ? '' : ' HTTP/1.0'
  const line = `${method} ${target}${spoken}`
  const args = ['explain', '-f', file, '-r', line]
  // HTTP/2 requests always have an authority, possibly an empty one.
  if (host !== undefined || transport.isHttp2) args.push('-H', `host: ${host ?? ''}`)
  for (const [name, value] of headers) args.push('-H', `${name}: ${value}`)
  if (body !== undefined) args.push('--body', body)
  if (claims !== undefined) {
    args.push('--claims', claimsIn(claims))
  }
  if (apiKey !== undefined) {
    const keys = apiKeysOf(tree)
    if (apiKey === 'wrong' || keys.length > 1) return undefined
    if (keys[0] !== undefined) args.push('--api-key', JSON.stringify(keys[0]))
  }
  const peer = transport.proxy?.address ?? '127.0.0.1'
  const client = hopsOf(tree) === 0 ? peer : forwardedFor(tree, { transport, request })
  // Only one address can be given: if rules read both, there is nothing to compare.
  const readsPeer = JSON.stringify(tree).includes('networkAuthorization')
  if (client === undefined || (client !== peer && readsPeer)) return undefined
  args.push('--source', client)
  const password = headers.find(([name]) => name === 'authorization')?.[1]
  if (password !== undefined) {
    const [user = '', word] = atob(password.replace('Basic ', '')).split(':')
    if (word !== 's3cret' || user === 'eve') return undefined
    args.push('--user', user)
  }
  const shares = sharesIn(tree)
  const chosen = shares.find(({ host }) => host === share) ?? shares[0]
  if (chosen !== undefined) args.push('--backend', chosen.name)
  const { tls } = transport
  if (tls !== undefined) args.push('--sni', sentName(tls.sni) ?? '')
  if (typeof tls?.certificate === 'string') {
    const names = CERTIFICATES[tls.certificate].names.map((one) => one.replace(/^[A-Za-z]+:/, ''))
    args.push('--certificate', JSON.stringify({ subjectAltNames: names }))
  }
  const gateway = gatewayAt(tree, transport.port) ?? ''
  const { listeners } = (tree['gateways'] as Readonly<Record<string, Tree>>)[gateway] as Tree
  args.push('--listener', listeners === undefined ? `${gateway}/default` : gateway)
  return args
}

function apiKeysOf(tree: Tree): readonly Tree[] {
  const found: Tree[] = []
  for (const [path, value] of walk(tree)) if (path.at(-1) === 'metadata') found.push(value as Tree)
  return found
}
