import { areaOf } from './areas.ts'
import { isTree, type Tree, walk, withValue } from './document.ts'
import { API_KEY } from './generate.ts'
import { namesIn } from './mcp-server.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import {
  gatewayAt,
  hopsOf,
  portOfGateway,
  proxyProtocolOf,
  readsAddresses,
  routesBy,
} from './places.ts'
import { describeProbe, portsOf } from './probes.ts'
import { sharesIn } from './shares.ts'
import { isAdmitted, type Outcome, type Probe, type Transport } from './wire.ts'

export interface Example {
  readonly listener: string
  readonly isConnection: boolean
  readonly method: string
  readonly path: string
  readonly query: string
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly source: string
  readonly sni?: string
  readonly certificate?: Readonly<Record<string, unknown>>
  readonly identity: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly proxyHeader?: 'None' | 'V1' | 'V2'
  readonly message?: { readonly body: string }
}

interface Place {
  readonly kind: 'admitted' | 'refused'
  readonly listener: string
  readonly route: string
}

interface Difference extends Place {
  readonly backend?: string
  /** With several providers, the statement is about this one. */
  readonly provider?: string
  readonly example: Example
  readonly services: readonly string[]
  readonly isOverLimit?: true
}

interface Diff {
  readonly differences: readonly Difference[]
  readonly untold: readonly Place[]
}

/** `portcullis diff`: everything that it reports as changed changes, and nothing else does. */
export const checkDiff: Check = async (pair) => {
  const { tools, old, now, count } = pair
  const said = await tools(['diff', old.file, now.file, '--json', '--fail-on-newly-admitted'])
  const found = parseExact(said.out) as Diff
  const claims: FalseClaim[] = []
  count('diff')
  const area = areaOf(old.tree)
  count(`diff of ${area}`)
  if (found.untold.length > 0) {
    count('diff not known')
    count(`diff of ${area} not known`)
  } else if (found.differences.length === 0) count('diff proven')
  for (const [index, probe] of pair.probes.entries()) {
    const before = old.outcomes[index] as Outcome
    const after = now.outcomes[index] as Outcome
    for (const kind of changesBetween(before, after)) {
      count('probes that changed')
      const observed = `${outcomeText(before)} -> ${outcomeText(after)}`
      if (kind === 'admitted' && said.code === 0) {
        const claim = 'diff --fail-on-newly-admitted: exit code 0'
        claims.push({ kind: 'diff exit code', claim, observed, probe: describeProbe(probe) })
      }
      const all = [...found.differences, ...found.untold].filter((one) => one.kind === kind)
      const [side, outcome] = kind === 'admitted' ? [now, after] : [old, before]
      if (all.some((place) => isAt(place, side.tree, probe, outcome))) continue
      const claim =
        found.differences.length + found.untold.length === 0
          ? 'diff: nothing changes: proven for every request'
          : `diff: nothing is newly ${kind} at route ${routesBy(side.tree, outcome).join()}`
      claims.push({ kind: 'diff proof', claim, observed, probe: describeProbe(probe) })
    }
  }
  claims.push(...(await checkExamples(pair, found.differences)))
  return claims
}

/** What a client observes, including names in lists that it did not see before. */
function changesBetween(before: Outcome, after: Outcome): readonly Place['kind'][] {
  if (isAdmitted(before) !== isAdmitted(after)) return [isAdmitted(after) ? 'admitted' : 'refused']
  const [was = [], is = []] = [before.listed, after.listed]
  return [
    ...(is.some((name) => !was.includes(name)) ? (['admitted'] as const) : []),
    ...(was.some((name) => !is.includes(name)) ? (['refused'] as const) : []),
  ]
}

function outcomeText({ status, by, listed = [] }: Outcome): string {
  const names = listed.length === 0 ? '' : ` with ${listed.join(', ')}`
  return `${status}${by === undefined ? ' rejected' : ''}${names}`
}

/** Integers that a double cannot represent stay as they were written. */
export function parseExact(text: string): unknown {
  return JSON.parse(
    text.replaceAll(/"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?:\.\d+)?(?=[\s,\]}])/g, (part) =>
      part.startsWith('"') ? part : `"#${part}"`,
    ),
  )
}

/**
 * Without the other providers, if the statement names one: they would serve the requests that it
 * denies.
 */
function fileFor({ world }: Pair, { tree, file, name }: Side, provider: string | undefined) {
  const own = withOnlyProvider(tree, provider)
  return own === tree ? file : world.write(`${name}-provider.yaml`, own)
}

export function withOnlyProvider(tree: Tree, provider: string | undefined): Tree {
  return provider === undefined ? tree : withOnlyModel(withOnly(tree, provider), provider)
}

function withOnly(tree: Tree, provider: string): Tree {
  const found = [...walk(tree)].filter(([path]) => path.at(-1) === 'groups' && path.at(-2) === 'ai')
  let own = tree
  for (const [path, value] of found) {
    const groups = (value as readonly Tree[])
      .map((group) =>
        (group['providers'] as readonly Tree[]).filter((one) => one['name'] === provider),
      )
      .filter((providers) => providers.length > 0)
      .map((providers) => ({ providers }))
    if (groups.length > 0) own = withValue(own, path, groups)
  }
  return own
}

/** Providers of models by name are called as the models are. */
function withOnlyModel(tree: Tree, provider: string): Tree {
  const { models, virtualModels } = (tree['llm'] ?? {}) as Tree
  if (!Array.isArray(models) || virtualModels !== undefined) return tree
  const own = (models as readonly Tree[]).filter(({ name }) => name === provider)
  return own.length === 0 ? tree : withValue(tree, ['llm', 'models'], own)
}

/** A statement about connections holds for every request on them. */
function isAt({ listener, route }: Place, tree: Tree, probe: Probe, outcome: Outcome): boolean {
  const gateway = gatewayAt(tree, probe.transport.port)
  if (!listener.startsWith(`${gateway}/`)) return false
  const routes = routesBy(tree, outcome)
  return route === '' || routes.length === 0 || routes.includes(route)
}

async function checkExamples(
  pair: Pair,
  differences: readonly Difference[],
): Promise<readonly FalseClaim[]> {
  const { world, old, now, count } = pair
  const sent = differences.flatMap((difference) => {
    const admitting = difference.kind === 'admitted' ? now : old
    const rejecting = difference.kind === 'admitted' ? old : now
    const isReading = readsAddresses(old.tree) || readsAddresses(now.tree)
    const readsPeer = readsPeers(old.tree) || readsPeers(now.tree)
    // The trusted proxies differ: no request means the same on both sides.
    if (isReading && hopsOf(old.tree) !== hopsOf(now.tree)) return []
    // Limits here are too high to be reached.
    if (difference.isOverLimit === true) return []
    const probe = probeFor(difference, admitting, isReading, readsPeer)
    if (probe === undefined) count('diff examples that cannot be sent')
    if (probe === undefined) return []
    const own = sharesIn(admitting.tree).find(({ name }) => name === difference.backend)
    const made = own === undefined ? probe : { ...probe, share: own.host }
    return [{ difference, admitting, rejecting, probe: made }]
  })
  if (sent.length === 0) return []
  const got = new Map<Side, readonly Outcome[]>()
  for (const side of [old, now]) {
    await world.serve(side.file)
    const shares = sharesIn(side.tree)
    const outcomes: Outcome[] = []
    for (const { probe, rejecting, difference } of sent) {
      await world.serve(fileFor(pair, side, difference.provider))
      // If backends are chosen by chance, the example names one that rejects it.
      const ways =
        side === rejecting && shares.length > 0
          ? shares.map(({ host }) => ({ ...probe, share: host }))
          : [probe]
      const all = await world.send(ways)
      outcomes.push(all.find((one) => !isAdmitted(one)) ?? (all[0] as Outcome))
    }
    got.set(side, outcomes)
  }
  const claims: FalseClaim[] = []
  for (const [index, { difference, admitting, rejecting, probe }] of sent.entries()) {
    count('diff examples sent')
    const yes = got.get(admitting)?.[index] as Outcome
    const no = got.get(rejecting)?.[index] as Outcome
    const { kind, listener, route } = difference
    const claim = `diff: newly ${kind} at listener ${listener}, route ${route}`
    const observed = `${admitting.name} responds with ${yes.status}, ${rejecting.name} ${no.status}`
    const example = describeProbe(probe)
    // With a virtual model, another provider may have served the call before.
    const isVirtual = JSON.stringify([old.tree, now.tree]).includes('"virtualModels"')
    if (isVirtual && difference.provider !== undefined && isAdmitted(yes) && isAdmitted(no))
      continue
    // The statement depends on a service, and the service denied the request.
    if (difference.services.length > 0 && !isAdmitted(yes) && !isAdmitted(no)) continue
    if ((!isAdmitted(yes) || isAdmitted(no)) && isOfOtherServers([old.tree, now.tree], probe)) {
      count('diff examples about other servers')
      continue
    }
    if (!isAdmitted(yes) || isAdmitted(no)) {
      // Reported to users unchanged: TLS rejects a client that sends it like this.
      const isBare =
        probe.transport.tls !== undefined && probe.transport.tls.certificate === undefined
      const needsOne =
        isBare && yes.status === 0 && JSON.stringify(admitting.tree).includes('"root"')
      const other = difference.example.headers['host'] ?? difference.example.host
      const kind = needsOne
        ? 'diff example without certificate'
        : other === difference.example.host
          ? 'diff example'
          : 'diff example with two hosts'
      claims.push({ kind, claim, observed, probe: example })
      continue
    }
    const routes = routesBy(admitting.tree, yes)
    if (route === '' || routes.length === 0 || routes.includes(route)) continue
    const elsewhere = `it reaches route ${routes.join()}`
    claims.push({ kind: 'diff example elsewhere', claim, observed: elsewhere, probe: example })
  }
  return claims
}

/**
 * The example is about a server that alone offers the name, or that offers the tool as pinned; here
 * every server offers it, and `write` differs from one of the pins.
 */
function isOfOtherServers(trees: readonly Tree[], { request: { body = '' } }: Probe): boolean {
  const text = JSON.stringify(trees)
  const isOutOfDate = text.includes('"old-pins.json"') && namesIn(body).includes('write')
  return isOutOfDate || text.includes('"prefixMode":"Never"')
}

/** Rules on connections see the peer, whatever proxies say of the client. */
function readsPeers(tree: Tree): boolean {
  return JSON.stringify(tree).includes('networkAuthorization')
}

/** The example as bytes; undefined if no client here can send it. */
export function probeFor(
  { example, listener }: Pick<Difference, 'example' | 'listener'>,
  side: Side,
  isReading: boolean,
  readsPeer = readsPeers(side.tree),
): Probe | undefined {
  const { tree } = side
  const text = JSON.stringify(tree)
  const [gateway = ''] = listener.split('/')
  const port = portOfGateway(tree, gateway)
  const own = portsOf(tree).find((one) => one.port === port)
  if (port === undefined || own === undefined) return undefined
  const proxied = example.proxyHeader === 'None' ? undefined : proxyProtocolOf(tree)
  const hops = example.isConnection ? 0 : hopsOf(tree)
  // Clients here are on this machine, whose hosts must be of it.
  const isForeign = areaOf(tree) === 'MCP' && !/"dnsRebindingProtection":false/.test(text)
  if (isForeign && example.host !== 'localhost') return undefined
  const isBound = proxied === undefined && (hops === 0 || readsPeer)
  if (isBound && isReading && !isOurs(example.source)) return undefined
  // The outermost proxy names the client; each of the others adds one address.
  const chain = Array.from({ length: hops }, (_, at) => (at === 0 ? example.source : '192.0.2.99'))
  const forwarded: [string, string][] = hops === 0 ? [] : [['x-forwarded-for', chain.join(', ')]]
  const certificate = certificateFor(example)
  if (certificate === 'none such') return undefined
  const transport: Transport = {
    port,
    ...(isBound && isReading ? { from: example.source } : {}),
    ...(proxied === undefined
      ? {}
      : { proxy: { version: versionFor(example, proxied), address: example.source } }),
    ...(own.isSecure
      ? {
          tls: {
            // In a request the client sends the name that it requests; a connection has its own.
            sni: example.isConnection
              ? example.sni
              : (example.sni ?? example.host.replace(/:\d+$/, '')),
            ...(certificate === undefined ? {} : { certificate }),
          },
        }
      : {}),
  }
  const { jwt, apiKey, basicAuth, ...others } = example.identity
  if (Object.keys(others).length > 0) return undefined
  const user = basicAuth?.['username']
  if (basicAuth !== undefined && (jwt !== undefined || !['alice', 'bob'].includes(String(user)))) {
    return undefined
  }
  const password: [string, string][] =
    user === undefined ? [] : [['authorization', `Basic ${btoa(`${user}:s3cret`)}`]]
  if (apiKey !== undefined && !text.includes(JSON.stringify(apiKey))) return undefined
  const target =
    encodeURI(example.path).replaceAll('%25', '%') +
    (example.query === '' ? '' : `?${example.query}`)
  return {
    transport,
    request: {
      method: example.method,
      target,
      version: example.host === '' ? '1.0' : '1.1',
      host: example.host === '' ? undefined : example.host,
      headers: [
        ...Object.entries(example.headers).filter(([name]) => name.toLowerCase() !== 'host'),
        ...forwarded,
        ...password,
        ...(example.message === undefined
          ? []
          : [['content-type', 'application/json'] as [string, string]]),
      ],
      ...(example.message === undefined ? {} : { body: example.message.body }),
      ...(jwt === undefined
        ? {}
        : { claims: JSON.stringify(jwt).replaceAll(/"#(-?\d+(?:\.\d+)?)"/g, '$1') }),
      ...(apiKey === undefined ? {} : { apiKey: API_KEY }),
    },
  }
}

/** Whether a client on this machine can use the address. */
function isOurs(address: string): boolean {
  return address.startsWith('127.') && !/^127\.(?:0\.0\.0|255\.255\.255)$/.test(address)
}

/** The version in the example; otherwise one that the port accepts. */
function versionFor({ proxyHeader }: Example, proxied: Tree): 1 | 2 {
  if (proxyHeader !== undefined) return proxyHeader === 'V1' ? 1 : 2
  return proxied['version'] === 'V1' ? 1 : 2
}

function certificateFor({ certificate }: Example) {
  if (!isTree(certificate as Tree | undefined) || certificate === undefined) return undefined
  const { subjectCn, identity, subjectAltNames, ...others } = certificate as {
    subjectCn?: string
    identity?: string
    subjectAltNames?: readonly string[]
  }
  if (Object.values(others).some((one) => one !== '' && one !== undefined)) return 'none such'
  const names = new Set(
    (subjectAltNames ?? []).map((name) => (name.includes(':') ? `URI:${name}` : `DNS:${name}`)),
  )
  if (identity !== undefined) names.add(`URI:${identity}`)
  return { subject: subjectCn ?? '', names: [...names] }
}
