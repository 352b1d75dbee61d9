/**
 * Determines which rule of which HTTPRoute receives a request, from the wording of the Gateway API
 * alone: lists every candidate and sorts the list. Uses no code of the controller or the gateway.
 */

export interface PlainListener {
  readonly name: string
  readonly hostname?: string
  /** Namespaces that the listener accepts routes from; undefined: all. */
  readonly from?: string
}

export interface PlainRoute {
  readonly namespace: string
  readonly name: string
  /** Seconds. */
  readonly age: number
  readonly hostnames: readonly string[]
  readonly sectionName?: string
  readonly rules: readonly { readonly matches: readonly PlainMatch[] }[]
}

export interface PlainMatch {
  readonly path: { readonly type: 'Exact' | 'PathPrefix'; readonly value: string }
  readonly method?: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly queryParams: readonly { readonly name: string; readonly value: string }[]
}

export interface PlainRequest {
  readonly host: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** `namespace/name rule`; undefined: no rule matches. */
export function ruleFor(
  listeners: readonly PlainListener[],
  routes: readonly PlainRoute[],
  request: PlainRequest,
): string | undefined {
  // "The most specific match MUST be given precedence": of listeners, by hostname.
  const [listener] = listeners
    .filter(({ hostname }) => covers(hostname, request.host))
    .sort((a, b) => specificity(b.hostname) - specificity(a.hostname))
  if (listener === undefined) return undefined
  const candidates = routes.flatMap((route) => {
    if (route.sectionName !== undefined && route.sectionName !== listener.name) return []
    if (listener.from !== undefined && listener.from !== route.namespace) return []
    const names = route.hostnames.length === 0 ? [undefined] : route.hostnames
    const shared = names.filter((name) => isShared(name, listener.hostname))
    const matching = shared.filter((name) => covers(name, request.host))
    if (matching.length === 0) return []
    const host = Math.max(...matching.map((name) => specificity(name)))
    return route.rules.flatMap(({ matches }, rule) =>
      matches
        .filter((match) => holds(match, request))
        .map((match) => ({ route, rule, match, host })),
    )
  })
  const [best] = candidates.sort(
    (a, b) =>
      b.host - a.host ||
      Number(b.match.path.type === 'Exact') - Number(a.match.path.type === 'Exact') ||
      trimmed(b.match.path.value).length - trimmed(a.match.path.value).length ||
      Number(b.match.method !== undefined) - Number(a.match.method !== undefined) ||
      b.match.headers.length - a.match.headers.length ||
      b.match.queryParams.length - a.match.queryParams.length ||
      a.route.age - b.route.age ||
      compare(`${a.route.namespace}/${a.route.name}`, `${b.route.namespace}/${b.route.name}`) ||
      a.rule - b.rule,
  )
  return best && `${best.route.namespace}/${best.route.name} ${best.rule}`
}

function covers(pattern: string | undefined, host: string): boolean {
  if (pattern === undefined) return true
  if (!pattern.startsWith('*')) return pattern === host
  const labels = pattern.split('.').slice(1)
  const own = host.split('.')
  return own.length > labels.length && own.slice(-labels.length).join('.') === labels.join('.')
}

/** Whether both patterns can match the same host. Tries hosts that each of them matches. */
function isShared(a: string | undefined, b: string | undefined): boolean {
  const samples = [a, b].flatMap((one) =>
    one === undefined ? [] : [one, one.replace('*', 'x'), one.replace('*', 'x.y')],
  )
  if (a === undefined || b === undefined) return true
  return samples.some((host) => !host.startsWith('*') && covers(a, host) && covers(b, host))
}

/** Exact names rank highest, then wildcards, longer before shorter; no hostname ranks last. */
function specificity(hostname: string | undefined): number {
  if (hostname === undefined) return 0
  return hostname.startsWith('*') ? hostname.length : 1_000 + hostname.length
}

function holds(match: PlainMatch, request: PlainRequest): boolean {
  const { path, method, headers, queryParams } = match
  if (path.type === 'Exact' && path.value !== request.path) return false
  if (path.type === 'PathPrefix') {
    const wanted = path.value.split('/').filter((part) => part !== '')
    const own = request.path.split('/').slice(1)
    if (wanted.some((part, index) => part !== own[index])) return false
  }
  if (method !== undefined && method !== request.method) return false
  return (
    headers.every(({ name, value }) => request.headers[name] === value) &&
    queryParams.every(({ name, value }) => request.query[name] === value)
  )
}

function trimmed(path: string): string {
  return path.replace(/(?<=.)\/+$/, '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
