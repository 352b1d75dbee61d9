import { type Line, parseCaddyfile } from './caddy-syntax.ts'
import {
  addressIn,
  type Conversion,
  compact,
  DENIES,
  DENY_ALL,
  type Lost,
  Names,
  type RouteDraft,
} from './conversion.ts'
import { ConvertError } from './nginx-syntax.ts'

const WITHOUT_COUNTERPART = new Set([
  'log',
  'encode',
  'file_server',
  'root',
  'tls',
  'php_fastcgi',
  'templates',
  'try_files',
  'request_body',
  'metrics',
])

/** Supported: sites with reverse_proxy, handle, handle_path, respond, redir, header, basic_auth. */
export function convertCaddyfile(text: string): Conversion {
  return new CaddyConversion(parseCaddyfile(text)).convert()
}

interface Site {
  readonly addresses: readonly {
    readonly host: string | undefined
    readonly port: number
    readonly isTls: boolean
  }[]
  readonly lines: readonly Line[]
  readonly line: number
}

class CaddyConversion {
  readonly #lost: Lost[] = []
  readonly #names = new Names()
  readonly #routes: RouteDraft[] = []
  readonly #sites: readonly Site[]

  constructor(lines: readonly Line[]) {
    this.#sites = lines.flatMap((one): Site[] => {
      if (one.block === undefined || one.words.length === 0) {
        if (one.words.length > 0 || one.block !== undefined) {
          this.#lose(one, 'global options are not converted')
        }
        return []
      }
      const addresses = one.words.map((word) => addressOf(word.replace(/,$/, ''), one.line))
      return [{ addresses, lines: one.block, line: one.line }]
    })
  }

  convert(): Conversion {
    const gateways: Record<string, unknown> = {}
    const all = this.#sites.flatMap((site) =>
      site.addresses.map((address) => ({ ...address, site })),
    )
    for (const port of new Set(all.map((one) => one.port))) {
      const here = all.filter((one) => one.port === port)
      if (!here.some(({ isTls }) => isTls)) {
        gateways[`port-${port}`] = { port }
        continue
      }
      const listeners = here.map(({ host, site }) => {
        const name = (host ?? 'any').replace(/^\*/, 'wildcard').replace(/[^A-Za-z0-9]+/g, '-')
        const [, ...named] = site.lines.find(({ words }) => words[0] === 'tls')?.words ?? []
        const [cert = `certs/${name}.crt`, key = `certs/${name}.key`] =
          named.length > 1 ? named : []
        if (named.length < 2) {
          this.#lost.push({
            line: site.line,
            what: `https://${host ?? ''}`,
            why: `certificates are not obtained automatically: put one into ${cert} and ${key}`,
          })
        }
        return compact({ name, hostname: host, tls: { cert, key } })
      })
      gateways[`port-${port}`] = { port, listeners }
    }
    for (const site of this.#sites) this.#convertSite(site)
    return { document: compact({ gateways, routes: this.#routes }), lost: this.#lost }
  }

  #lose({ words, line, block }: Line, why: string): void {
    this.#lost.push({
      line,
      what: [...words, ...(block === undefined ? [] : ['{ … }'])].join(' '),
      why,
    })
  }

  #convertSite({ addresses, lines }: Site): void {
    const gateways = [...new Set(addresses.map(({ port }) => `port-${port}`))]
    const hostnames = addresses.flatMap(({ host }) => (host === undefined ? [] : [host]))
    const matchers = new Map(
      lines.flatMap((one) => (one.words[0]?.startsWith('@') === true ? [[one.words[0], one]] : [])),
    )
    const context = { gateways, hostnames, matchers }
    const plain = lines.filter(
      ({ words: [word = ''] }) =>
        !word.startsWith('@') && !['handle', 'handle_path', 'route', 'tls'].includes(word),
    )
    for (const one of lines) {
      const [word = '', path] = one.words
      if (!['handle', 'handle_path', 'route'].includes(word)) continue
      this.#convertGroup(
        pathOf(path, matchers),
        one.block ?? [],
        plain.filter(isShared),
        context,
        word === 'handle_path',
      )
    }
    const rest = plain.filter((one) => !isShared(one))
    const paths = new Set(
      rest.map(({ words: [, path = ''] }) => (path.startsWith('/') ? path : undefined)),
    )
    for (const path of paths) {
      const own = rest.filter(
        ({ words: [, first = ''] }) => (first.startsWith('/') ? first : undefined) === path,
      )
      this.#convertGroup(path, own, plain.filter(isShared), context, false)
    }
  }

  #convertGroup(
    path: string | undefined,
    own: readonly Line[],
    shared: readonly Line[],
    {
      gateways,
      hostnames,
      matchers,
    }: {
      readonly gateways: readonly string[]
      readonly hostnames: readonly string[]
      readonly matchers: ReadonlyMap<string, Line>
    },
    isStripped: boolean,
  ): void {
    const policies: Record<string, unknown> = {}
    const rules: object[] = []
    let backend: unknown
    let isDenied = false
    for (const one of [...shared, ...own]) {
      const [word = '', ...all] = one.words
      const args = all[0] === path ? all.slice(1) : all
      if (args[0]?.startsWith('@') === true) {
        const rule = this.#matched(matchers.get(args[0]))
        const status = Number(args.at(-1))
        // An error response to matching clients denies them; other matchers are not converted.
        if (word === 'respond' && rule !== undefined && status >= 400) rules.push({ deny: rule })
        else if (word === 'abort' && rule !== undefined) rules.push({ deny: rule })
        else {
          isDenied = true
          this.#lose(one, DENIES)
        }
      } else if (word === 'reverse_proxy' && args.length > 0 && areHarmless(one.block)) {
        for (const option of one.block ?? []) this.#lose(option, NO_EQUIVALENT)
        const hosts = args
          .map((host) => host.replace(/^http:\/\//, ''))
          .map((host) => (host.startsWith(':') ? `127.0.0.1${host}` : host))
        const hasPorts = hosts.every((host) => /^[\w.-]+:\d+$/.test(host))
        if (hasPorts) backend = hosts.length === 1 ? { host: hosts[0] } : { hosts }
        else {
          isDenied = true
          this.#lose(one, DENIES)
        }
      } else if (word === 'respond') {
        const status = Number(args.at(-1))
        const hasStatus = Number.isInteger(status) && args.length > 0 && status >= 200
        const body = hasStatus ? args.slice(0, -1).join(' ') : args.join(' ')
        policies['directResponse'] = compact({
          status: hasStatus ? status : 200,
          body: body === '' ? undefined : body,
        })
      } else if (word === 'redir') {
        const redirect = redirectOf(args)
        if (redirect !== undefined) Object.assign(policies, redirect)
        else {
          isDenied = true
          this.#lose(one, DENIES)
        }
      } else if (word === 'header' && headersOf(one, args) !== undefined) {
        const known = policies['responseHeaders'] as Headers | undefined
        const { set = {}, remove = [] } = headersOf(one, args) ?? {}
        policies['responseHeaders'] = compact({
          set: nonEmpty({ ...known?.set, ...set }),
          remove: nonEmpty([...(known?.remove ?? []), ...remove]),
        })
      } else if (
        (word === 'basic_auth' || word === 'basicauth') &&
        one.block !== undefined &&
        args.length === 0
      ) {
        const users = one.block.map(({ words: [user = '', hash = ''] }) => `${user}:${hash}`)
        policies['basicAuth'] = { users }
      } else {
        const isHarmless = WITHOUT_COUNTERPART.has(word)
        isDenied ||= !isHarmless
        this.#lose(one, isHarmless ? NO_EQUIVALENT : DENIES)
      }
    }
    const match = path === undefined || path === '*' ? undefined : matchOf(path)
    if (match?.['pathPrefix'] !== undefined && path !== '/*') {
      const why = `converted to a prefix, which also matches ${match['pathPrefix']} itself; \`${path}\` does not`
      this.#lost.push({ line: own[0]?.line, what: path ?? '', why })
    }
    if (path !== undefined && path !== '*' && match === undefined) {
      this.#lost.push({ line: own[0]?.line, what: path, why: DENIES })
      isDenied = true
    }
    if (isDenied) policies['authorization'] = DENY_ALL
    else if (rules.length > 0) policies['authorization'] = { rules }
    if (isStripped) policies['urlRewrite'] = { path: { prefix: '/' } }
    const responds =
      backend !== undefined || 'directResponse' in policies || 'requestRedirect' in policies
    if (!responds) policies['directResponse'] = { status: 404 }
    const draft = compact({
      name: this.#names.take([...hostnames.slice(0, 1), path ?? 'all'].join('-')),
      gateways,
      hostnames,
      matches: match === undefined ? undefined : [{ path: match }],
      policies,
      backends: backend === undefined ? undefined : [backend],
    })
    this.#routes.push(draft as unknown as RouteDraft)
  }

  /** The rule for an address matcher; other matchers are not supported. */
  #matched(matcher: Line | undefined): string | undefined {
    if (matcher === undefined) return undefined
    const [, ...inline] = matcher.words
    const conditions =
      inline.length > 0 ? [inline] : (matcher.block ?? []).map(({ words }) => words)
    const rules = conditions.map(([first = '', ...rest]) => {
      const [kind = '', ...values] = first === 'not' ? rest : [first, ...rest]
      if (kind !== 'remote_ip' && kind !== 'client_ip') return undefined
      const networks = values.map(addressIn)
      if (networks.length === 0 || networks.includes(undefined)) return undefined
      const any = networks.join(' || ')
      return first === 'not' ? `!(${any})` : `(${any})`
    })
    return rules.length === 0 || rules.includes(undefined) ? undefined : rules.join(' && ')
  }
}

const NO_EQUIVALENT = 'no equivalent, or different defaults'

/** Options of `reverse_proxy` that affect neither who is served nor what is sent. */
const PROXY_OPTIONS =
  /^(lb_policy|lb_retries|lb_try_duration|lb_try_interval|health_\w+|fail_duration|max_fails|unhealthy_\w+|flush_interval|buffer_\w+|request_buffers|response_buffers|stream_\w+)$/
/** Headers that the gateway sends by default. */
const SENT = new Map([
  ['x-real-ip', /^\{(http\.request\.remote\.host|remote_host)\}$/],
  ['x-forwarded-for', /^\{(http\.request\.remote\.host|remote_host)\}$/],
  ['x-forwarded-proto', /^\{(http\.request\.scheme|scheme)\}$/],
  ['x-forwarded-host', /^\{(http\.request\.host|host)\}$/],
  ['host', /^\{(http\.request\.host|host)\}$/],
])

function areHarmless(block: readonly Line[] | undefined): boolean {
  return (block ?? []).every(({ words: [word = '', name = '', value = ''] }) =>
    word === 'header_up'
      ? SENT.get(name.toLowerCase())?.test(value) === true
      : PROXY_OPTIONS.test(word),
  )
}

interface Headers {
  readonly set?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
}

/** Parses `header NAME VALUE`, or a block of such lines and `-NAME`; undefined for other forms. */
function headersOf({ block }: Line, args: readonly string[]): Headers | undefined {
  if (block !== undefined && args.length > 0) return undefined
  const lines = block === undefined ? [args] : block.map(({ words }) => words)
  const isPlain = lines.every(([name = '', ...values]) =>
    name.startsWith('-')
      ? /^-[\w-]+$/.test(name) && values.length === 0
      : /^[\w-]+$/.test(name) && values.length === 1 && !/[{}]/.test(values[0] ?? ''),
  )
  if (!isPlain) return undefined
  const removed = lines.filter(([name = '']) => name.startsWith('-'))
  const set = lines.filter(([name = '']) => !name.startsWith('-'))
  return {
    set: Object.fromEntries(set.map(([name = '', value = '']) => [name.toLowerCase(), value])),
    remove: removed.map(([name = '']) => name.slice(1).toLowerCase()),
  }
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value
}

/** The path of `handle @name` if the matcher is a single path; otherwise the word itself. */
function pathOf(word: string | undefined, matchers: ReadonlyMap<string, Line>): string | undefined {
  const { words: [, kind, path, ...more] = [], block } = matchers.get(word ?? '') ?? {}
  const isPath = kind === 'path' && block === undefined && more.length === 0
  return isPath ? (path ?? word) : word
}

/** Directives that apply to all groups of a site. */
const isShared = ({ words: [word = ''] }: Line) =>
  [
    'header',
    'basic_auth',
    'basicauth',
    'encode',
    'log',
    'respond',
    'abort',
    'forward_auth',
    'import',
  ].includes(word) && word !== 'respond'

function matchOf(path: string): Readonly<Record<string, string>> | undefined {
  if (path === '/*') return { pathPrefix: '/' }
  if (/^\/[^*{}]*\/\*$/.test(path)) return { pathPrefix: path.slice(0, -2) }
  if (/^\/[^*{}]*$/.test(path)) return { exact: path }
  return undefined
}

/** A redirect to the same URI, or a response with another location, used as written. */
function redirectOf([to = '', code = '302']: readonly string[]):
  | Record<string, unknown>
  | undefined {
  const status = { permanent: 301, temporary: 302 }[code] ?? Number(code)
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  const [, scheme = '', host = ''] = /^(https?):\/\/([^/{}]+|\{host\})\{uri\}$/.exec(to) ?? []
  if (scheme !== '') {
    const authority = host === '{host}' ? { port: scheme === 'https' ? 443 : 80 } : { full: host }
    return { requestRedirect: { scheme, authority, status } }
  }
  // A redirect policy of the gateway would keep the query.
  if (!/^(https?:\/\/|\/)[^{}'\\\s]*$/.test(to)) return undefined
  return { directResponse: { status, headers: { location: `'${to}'` } } }
}

/** The max length of a DNS name. */
const MAX_NAME = 253

function addressOf(text: string, line: number) {
  const [, scheme, host, port] = /^(?:(https?):\/\/)?([\w.*-]*)(?::(\d+))?$/.exec(text) ?? []
  if (host === undefined || host.length > MAX_NAME) {
    throw new ConvertError(line, `\`${text}\` is not a site address`)
  }
  const isTls = scheme === undefined ? port === undefined || port === '443' : scheme === 'https'
  const number = port === undefined ? (isTls ? 443 : 80) : Number(port)
  // Without a name, no certificate can be obtained.
  const isPlain = scheme === undefined && (host === '' || port === '80')
  return { host: host === '' ? undefined : host, port: number, isTls: isTls && !isPlain }
}
