import { addressIn, anyOf, bothOf, compact } from './conversion.ts'
import type { Directive } from './nginx-syntax.ts'

/** Directives that configure nginx itself and affect neither decisions nor routes. */
const WITHOUT_COUNTERPART = new Set(
  `user worker_processes worker_connections worker_rlimit_nofile pid events error_log access_log log_format
  sendfile tcp_nopush tcp_nodelay keepalive_timeout keepalive_requests keepalive types_hash_max_size
  server_tokens default_type types client_max_body_size client_body_timeout client_header_timeout
  send_timeout proxy_read_timeout proxy_send_timeout proxy_connect_timeout proxy_buffering
  proxy_buffers proxy_buffer_size proxy_http_version proxy_redirect proxy_cache proxy_cache_path
  proxy_next_upstream limit_req limit_req_zone limit_conn limit_conn_zone gzip_types gzip_vary
  gzip_min_length gzip_comp_level gzip_proxied ssl_session_cache ssl_session_timeout ssl_ciphers
  ssl_prefer_server_ciphers ssl_protocols ssl_dhparam ssl_stapling ssl_stapling_verify
  ssl_session_tickets ssl_trusted_certificate resolver charset etag expires root index
  large_client_header_buffers client_body_buffer_size server_names_hash_bucket_size multi_accept
  underscores_in_headers reset_timedout_connection autoindex http2 load_module map_hash_bucket_size
  least_conn zone daemon master_process client_body_temp_path proxy_temp_path fastcgi_temp_path
  uwsgi_temp_path scgi_temp_path map geo split_clients map_hash_max_size variables_hash_max_size
  variables_hash_bucket_size`.split(/\s+/),
)
/** Variables guard nothing by themselves; directives that use them may, and are not supported. */
export function isHarmless({ name, args }: Directive): boolean {
  // Every nginx.conf includes it; it only defines file types.
  if (name === 'include') return args.length === 1 && /(^|\/)mime\.types$/.test(args[0] ?? '')
  return WITHOUT_COUNTERPART.has(name)
}

/** Directives that are converted. */
export const HANDLED = new Set(
  `listen server_name ssl_certificate ssl_certificate_key location return proxy_pass allow deny
  auth_basic auth_basic_user_file proxy_set_header add_header gzip`.split(/\s+/),
)

export const KINDS: Readonly<Record<string, 'prefix' | 'exact' | 'regex' | 'regex-i'>> = {
  '': 'prefix',
  '^~': 'prefix',
  '=': 'exact',
  '~': 'regex',
  '~*': 'regex-i',
}

/**
 * nginx prefixes may end anywhere, and its regular expressions take precedence over them. If this
 * matters, all locations become regular expressions in the order in which nginx tries them.
 */
export function needsOrder(
  locations: readonly Directive[],
  inherited: readonly Directive[],
): boolean {
  const isGuarded = (one: Directive) => ['allow', 'deny', 'auth_basic'].includes(one.name)
  return locations.some(({ args, block = [] }) => {
    if (args[0] === '~' || args[0] === '~*') return true
    const [path = ''] = args.slice(-1)
    if (args[0] === '=' || path === '/') return false
    // For proxied locations, nginx redirects `/a` to `/a/`; `/a` does not match other locations.
    if (path.endsWith('/')) return !block.some(({ name }) => name === 'proxy_pass')
    return block.some(isGuarded) || inherited.some(isGuarded)
  })
}

export function ordered(locations: readonly Directive[]): readonly Directive[] {
  const rank = ({ args: [sign = ''] }: Directive) =>
    sign === '=' ? 0 : sign === '^~' ? 1 : sign.startsWith('~') ? 2 : 3
  const length = ({ args }: Directive) => (args.at(-1) ?? '').length
  return [...locations].sort((one, other) => {
    const byRank = rank(one) - rank(other)
    return byRank !== 0 || rank(one) === 2 ? byRank : length(other) - length(one)
  })
}

export function pathOf(
  kind: 'prefix' | 'exact' | 'regex' | 'regex-i',
  path: string,
  isOrdered: boolean,
): Readonly<Record<string, string>> {
  if (kind === 'regex' || kind === 'regex-i') {
    const head = path.startsWith('^') ? path.slice(1) : `.*(?:${path})`
    const body = head.endsWith('$') && !head.endsWith('\\$') ? head.slice(0, -1) : `${head}.*`
    return { regex: kind === 'regex-i' ? `(?i)${body}` : body }
  }
  const literal = path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  if (isOrdered) return { regex: kind === 'exact' ? literal : `${literal}.*` }
  if (kind === 'exact') return { exact: path }
  return { pathPrefix: path === '/' ? '/' : path.replace(/\/$/, '') }
}

/** The first matching directive decides; if none matches, the request is allowed. */
export function accessRule(directives: readonly Directive[]): string | undefined {
  let rule: string | undefined = 'true'
  for (const { name, args } of [...directives].reverse()) {
    const [network = ''] = args
    const condition = network === 'all' ? 'true' : addressIn(network)
    if (condition === undefined || rule === undefined) return undefined
    if (condition === 'true') rule = name === 'allow' ? 'true' : 'false'
    else if (name === 'allow') rule = anyOf(condition, rule)
    else rule = bothOf(`!${condition}`, rule)
  }
  return rule
}

/** Converts `https://$host$request_uri` and similar forms; undefined for others. */
export function redirectTo(url: string): Record<string, unknown> | undefined {
  const [, scheme, host = '', path = ''] =
    /^(https?|\$scheme):\/\/([^/$]+|\$host|\$server_name|\$http_host)(.*)$/.exec(url) ?? []
  if (scheme === undefined) {
    return /^\/[^$]*$/.test(url) ? { path: { full: url } } : undefined
  }
  const isSame = path === '$request_uri' || path === '$uri'
  if (!isSame && path.includes('$')) return undefined
  const port = scheme === 'https' ? 443 : undefined
  return compact({
    scheme: scheme === '$scheme' ? undefined : scheme,
    authority: host.startsWith('$') ? port && { port } : { full: host },
    path: isSame ? undefined : { full: path === '' ? '/' : path },
  })
}

/** nginx sends its own responses before it evaluates access rules. */
export function ungated(policies: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { authorization: _, basicAuth: __, ...rest } = policies
  return rest
}
