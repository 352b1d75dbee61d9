import {
  type Conversion,
  compact,
  DENIES,
  DENY_ALL,
  type Lost,
  Names,
  type RouteDraft,
} from './conversion.ts'
import {
  accessRule,
  HANDLED,
  isHarmless,
  KINDS,
  needsOrder,
  ordered,
  pathOf,
  redirectTo,
  ungated,
} from './nginx-locations.ts'
import { ConvertError, type Directive, parseNginx, renderDirective } from './nginx-syntax.ts'

/** Headers that the gateway sends by default. */
const FORWARDED = new Map([
  ['host', /^\$(host|http_host)$/],
  ['x-real-ip', /^\$remote_addr$/],
  ['x-forwarded-for', /^\$(proxy_add_x_forwarded_for|remote_addr)$/],
  ['x-forwarded-proto', /^\$scheme$/],
  ['x-forwarded-host', /^\$(host|http_host)$/],
  ['upgrade', /^\$http_upgrade$/],
  ['connection', /^(upgrade|\$connection_upgrade|)$/i],
])

interface Server {
  readonly directive: Directive
  readonly block: readonly Directive[]
  readonly names: readonly string[]
  readonly listens: readonly {
    readonly port: number
    readonly isTls: boolean
    readonly isDefault: boolean
  }[]
}

/** Supported: servers with listen, server_name, certificates, locations and their contents. */
export function convertNginx(text: string): Conversion {
  return new NginxConversion(parseNginx(text)).convert()
}

class NginxConversion {
  readonly #lost: Lost[] = []
  readonly #names = new Names()
  readonly #upstreams = new Map<string, readonly string[]>()
  readonly #http: readonly Directive[]
  readonly #routes: RouteDraft[] = []

  constructor(top: readonly Directive[]) {
    const inside = top.filter(({ name }) => name === 'http').flatMap(({ block = [] }) => block)
    // A file in sites-enabled contains only servers.
    this.#http = [...inside, ...top.filter(({ name }) => name === 'server' || name === 'upstream')]
    for (const one of top) {
      if (!['http', 'server', 'upstream'].includes(one.name)) this.#lose(one, this.#whyLost(one))
    }
  }

  convert(): Conversion {
    for (const one of this.#http) if (one.name === 'upstream') this.#readUpstream(one)
    const servers = this.#http
      .filter(({ name }) => name === 'server')
      .map((one) => this.#server(one))
    const shared = this.#http.filter(({ name }) => name !== 'server' && name !== 'upstream')
    const gateways: Record<string, unknown> = {}
    for (const port of new Set(servers.flatMap(({ listens }) => listens.map((one) => one.port)))) {
      const here = servers.filter(({ listens }) => listens.some((one) => one.port === port))
      gateways[`port-${port}`] = this.#gateway(port, here)
    }
    for (const server of servers) this.#convertServer(server, servers, shared)
    return { document: compact({ gateways, routes: this.#routes }), lost: this.#lost }
  }

  #lose(directive: Directive, why: string): void {
    this.#lost.push({ line: directive.line, what: renderDirective(directive), why })
  }

  #whyLost(directive: Directive): string {
    return isHarmless(directive) ? 'no equivalent, or different defaults' : DENIES
  }

  #readUpstream({ args: [name = ''], block = [] }: Directive): void {
    const hosts: string[] = []
    for (const one of block) {
      const [address = '', ...options] = one.args
      if (one.name !== 'server' || options.length > 0)
        this.#lose(one, 'requests are distributed evenly among the servers')
      if (one.name === 'server' && !options.includes('down') && !options.includes('backup')) {
        hosts.push(/:\d+$/.test(address) ? address : `${address}:80`)
      }
    }
    this.#upstreams.set(name, hosts)
  }

  #server(directive: Directive): Server {
    const { block = [], line } = directive
    const listens = block
      .filter(({ name }) => name === 'listen')
      .flatMap((one) => {
        const [address = '', ...options] = one.args
        const port = Number(
          /(?:^|:)(\d+)$/.exec(address)?.[1] ?? (/^[\d.*]+$/.test(address) ? 80 : Number.NaN),
        )
        if (Number.isNaN(port))
          throw new ConvertError(one.line, `\`${address}\` is not an address with a port number`)
        if (address.includes(':') && !/^(\*|0\.0\.0\.0|\[::\]):/.test(address)) {
          this.#lose(one, 'the port is bound on all addresses')
        }
        const isTls = options.includes('ssl')
        return [{ port, isTls, isDefault: options.includes('default_server') }]
      })
    const names = block
      .filter(({ name }) => name === 'server_name')
      .flatMap((one) => {
        return one.args.filter((name) => {
          const isPlain = /^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name) && name !== '_'
          if (!isPlain && name !== '_' && name !== '')
            this.#lose(one, 'this form of server name is not supported')
          return isPlain
        })
      })
    if (listens.length === 0) listens.push({ port: 80, isTls: false, isDefault: false })
    if (block.length === 0) throw new ConvertError(line, 'the server is empty')
    return { directive, block, names, listens }
  }

  #gateway(port: number, servers: readonly Server[]): unknown {
    const isTls = ({ listens }: Server) => listens.some((one) => one.port === port && one.isTls)
    if (!servers.some(isTls)) return { port }
    const listeners = servers.flatMap((server) => {
      const of = (name: string) => server.block.find((one) => one.name === name)?.args[0]
      const [cert, key] = [of('ssl_certificate'), of('ssl_certificate_key')]
      if (cert === undefined || key === undefined) {
        this.#lose(server.directive, 'it has no certificate: the server is not served on this port')
        return []
      }
      const names = server.names.length === 0 ? [undefined] : server.names
      return names.map((hostname) => {
        return compact({ name: this.#listenerName(hostname), hostname, tls: { cert, key } })
      })
    })
    return { port, listeners }
  }

  #listenerName(hostname: string | undefined): string {
    return (hostname ?? 'any').replace(/^\*/, 'wildcard').replace(/[^A-Za-z0-9]+/g, '-')
  }

  #convertServer(server: Server, all: readonly Server[], shared: readonly Directive[]): void {
    const { block, listens } = server
    const isOpenTo = listens.some(({ port, isDefault }) => {
      const here = all.filter((one) => one.listens.some((other) => other.port === port))
      const marked = here.find((one) =>
        one.listens.some((other) => other.port === port && other.isDefault),
      )
      return isDefault || (marked ?? here[0]) === server
    })
    // Unknown names go to the first server, or to the one marked as default.
    const hostnames = isOpenTo || server.names.length === 0 ? [] : server.names
    const gateways = [...new Set(listens.map(({ port }) => `port-${port}`))]
    const own = block.filter(({ name }) => name !== 'location')
    const inherited = [...shared, ...own]
    const locations = block.filter(({ name }) => name === 'location')
    const returned = own.find(({ name }) => name === 'return')
    const reported = new Set<Directive>()
    if (returned !== undefined) {
      // It takes effect before a location is selected.
      const policies = this.#policies([], inherited, reported)
      this.#add('all', gateways, hostnames, undefined, this.#respond(returned, policies), undefined)
      for (const one of locations) this.#lose(one, '`return` of the server takes precedence')
      return
    }
    const isOrdered = needsOrder(locations, inherited)
    for (const location of ordered(locations)) {
      this.#convertLocation(location, { gateways, hostnames, inherited, reported, isOrdered })
    }
    if (!locations.some(({ args }) => args.length === 1 && args[0] === '/')) {
      const policies = {
        ...this.#policies([], inherited, reported),
        directResponse: { status: 404 },
      }
      this.#add('files', gateways, hostnames, pathOf('prefix', '/', isOrdered), policies, undefined)
      if (own.some(({ name }) => name === 'root')) {
        this.#lose(server.directive, 'static files are not supported: other paths get 404')
      }
    }
  }

  #convertLocation(
    location: Directive,
    around: {
      readonly gateways: readonly string[]
      readonly hostnames: readonly string[]
      readonly inherited: readonly Directive[]
      readonly reported: Set<Directive>
      readonly isOrdered: boolean
    },
  ): void {
    const { gateways, hostnames, inherited, reported, isOrdered } = around
    const { args, block = [] } = location
    const [sign, path = ''] = args.length === 1 ? ['', args[0]] : args
    const kind = KINDS[sign ?? ''] ?? 'prefix'
    const policies = this.#policies(block, inherited, reported)
    const match = pathOf(kind, path, isOrdered)
    const pass = block.find(({ name }) => name === 'proxy_pass')
    const returned = block.find(({ name }) => name === 'return')
    const add = (with_: Readonly<Record<string, unknown>>, backend?: unknown) =>
      this.#add(path, gateways, hostnames, match, with_, backend)
    if (path.startsWith('@')) {
      this.#lose(location, 'named locations are not supported')
      return
    }
    if (kind === 'prefix' && !isOrdered && path !== '/' && !path.endsWith('/')) {
      this.#lose(location, `prefixes match whole segments: ${path}/x matches, ${path}x does not`)
    }
    if (returned !== undefined) {
      add(this.#respond(returned, policies))
      return
    }
    if (pass === undefined) {
      this.#lose(location, 'static files are not supported: requests get 404')
      add({ ...policies, directResponse: { status: 404 } })
      return
    }
    const target = this.#target(pass)
    if (target === undefined || (target.path !== '' && (isOrdered || kind !== 'prefix'))) {
      this.#lose(pass, DENIES)
      add({ ...policies, directResponse: { status: 500 }, authorization: DENY_ALL })
      return
    }
    if (path.endsWith('/') && path !== '/' && kind === 'prefix') {
      const exact = pathOf('exact', path.slice(0, -1), isOrdered)
      const requestRedirect = { path: { full: path }, status: 301 }
      this.#add(
        `${path}slash`,
        gateways,
        hostnames,
        exact,
        { ...ungated(policies), requestRedirect },
        undefined,
      )
    }
    if (target.path !== '' && target.path.endsWith('/') !== path.endsWith('/')) {
      this.#lose(pass, DENIES)
      add({ ...policies, authorization: DENY_ALL }, target.backend)
      return
    }
    const sendsHost = [...inherited, ...block].some(
      ({ name, args: [header = '', value = ''] }) =>
        name === 'proxy_set_header' &&
        header.toLowerCase() === 'host' &&
        /^\$(http_)?host$/.test(value),
    )
    const urlRewrite = compact({
      authority: sendsHost ? undefined : { full: target.authority },
      path: target.path === '' ? undefined : { prefix: target.path.replace(/(.)\/$/, '$1') },
    })
    add(compact({ ...policies, urlRewrite }), target.backend)
  }

  #target({ args: [url = ''] }: Directive) {
    const parsed = /^(https?):\/\/([^/$]+)(\/[^$]*)?$/.exec(url)
    if (parsed === null) return undefined
    const [, scheme = '', authority = '', path = ''] = parsed
    const hosts = this.#upstreams.get(authority) ?? [
      /:\d+$/.test(authority) ? authority : `${authority}:${scheme === 'https' ? 443 : 80}`,
    ]
    if (hosts.length === 0 || hosts.some((host) => host.startsWith('unix:'))) return undefined
    const tls = scheme === 'https' ? { policies: { backendTLS: {} } } : {}
    const [host] = hosts
    const backend = hosts.length === 1 ? { host, ...tls } : { hosts, ...tls }
    return { backend, path, authority }
  }

  /** The directives of the location; for those that it does not set, the inherited ones. */
  #policies(own: readonly Directive[], inherited: readonly Directive[], reported: Set<Directive>) {
    const of = (...names: readonly string[]) => {
      const here = own.filter(({ name }) => names.includes(name))
      return here.length > 0 ? here : inherited.filter(({ name }) => names.includes(name))
    }
    const rules: object[] = []
    const access = of('allow', 'deny')
    if (access.length > 0) rules.push({ require: accessRule(access) ?? 'false' })
    if (access.length > 0 && accessRule(access) === undefined) {
      for (const one of access) this.#lose(one, DENIES)
    }
    let isDenied = false
    for (const one of [...inherited, ...own]) {
      if (HANDLED.has(one.name)) continue
      if (!reported.has(one)) this.#lose(one, this.#whyLost(one))
      reported.add(one)
      isDenied ||= !isHarmless(one)
    }
    const [realm] = of('auth_basic')
    const [users] = of('auth_basic_user_file')
    const isBasic = realm !== undefined && realm.args[0] !== 'off'
    if (isBasic && users === undefined) isDenied = true
    const set = this.#headers(of('proxy_set_header'), reported)
    const response = Object.fromEntries(
      of('add_header').flatMap((one) => {
        const [name = '', value = ''] = one.args
        if (!value.includes('$')) return [[name.toLowerCase(), value]]
        if (!reported.has(one)) this.#lose(one, 'variables are not converted')
        reported.add(one)
        return []
      }),
    )
    return compact({
      authorization: isDenied ? DENY_ALL : rules.length > 0 ? { rules } : undefined,
      basicAuth:
        isBasic && users !== undefined
          ? { htpasswd: { file: users.args[0] ?? '' }, realm: realm.args[0] }
          : undefined,
      requestHeaders: Object.keys(set).length > 0 ? { set } : undefined,
      responseHeaders: Object.keys(response).length > 0 ? { set: response } : undefined,
      ...(of('gzip')[0]?.args[0] === 'on' ? { compression: { algorithms: ['gzip'] } } : {}),
    })
  }

  #headers(directives: readonly Directive[], reported: Set<Directive>): Record<string, string> {
    const set: Record<string, string> = {}
    for (const one of directives) {
      const [header = '', value = ''] = one.args
      const name = header.toLowerCase()
      if (FORWARDED.get(name)?.test(value) === true) {
        if (name === 'x-real-ip' && !reported.has(one))
          this.#lose(one, 'X-Forwarded-For carries the address')
      } else if (!value.includes('$') && name !== 'host') {
        set[name] = value
        continue
      } else if (!reported.has(one)) this.#lose(one, 'variables are not converted')
      reported.add(one)
    }
    return set
  }

  #respond(
    directive: Directive,
    policies: Readonly<Record<string, unknown>>,
  ): Record<string, unknown> {
    const [first = '', text] = directive.args
    const isUrl = /^(https?:\/\/|\$scheme)/.test(first)
    const status = isUrl ? 302 : Number(first)
    const url = isUrl ? first : text
    if ([301, 302, 303, 307, 308].includes(status) && url !== undefined) {
      // The URL is used as written: a redirect policy of the gateway would keep the query.
      if (/^(https?:\/\/|\/)[^$'\\\s]*$/.test(url)) {
        const directResponse = { status, headers: { location: `'${url}'` } }
        return { ...ungated(policies), directResponse }
      }
      const requestRedirect = redirectTo(url)
      if (requestRedirect !== undefined) {
        return { ...ungated(policies), requestRedirect: { ...requestRedirect, status } }
      }
      this.#lose(directive, DENIES)
      return { ...policies, directResponse: { status: 500 }, authorization: DENY_ALL }
    }
    if (text?.includes('$') === true) this.#lose(directive, 'variables are not converted')
    const directResponse = compact({ status: status === 444 ? 403 : status, body: text })
    return { ...ungated(policies), directResponse }
  }

  #add(
    path: string,
    gateways: readonly string[],
    hostnames: readonly string[],
    match: Readonly<Record<string, string>> | undefined,
    policies: Readonly<Record<string, unknown>>,
    backend: unknown,
  ): void {
    const name = this.#names.take([...hostnames.slice(0, 1), path].join('-'))
    const matches = match === undefined ? undefined : [{ path: match }]
    const backends = backend === undefined ? undefined : [backend]
    const draft = compact({ name, gateways, hostnames, matches, policies, backends })
    this.#routes.push(draft as unknown as RouteDraft)
  }
}
