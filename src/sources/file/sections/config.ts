import * as z from 'zod'
import type { Address, CatalogSource, Settings } from '../../../model/settings.ts'
import {
  aliased,
  byteSize,
  choice,
  duration,
  expression,
  file,
  headerName,
  issue,
  keepalives,
  oneOfKeys,
  parseHost,
  scalar,
  settingSecret,
} from '../../../policies/schema.ts'
import { checkCatalog, modelCatalog } from '../../../protocols/llm/catalog/schema.ts'
import { omitUndefined } from '../omit-undefined.ts'
import { adminAuthSettings } from './admin-settings.ts'
import { labelName } from './label-name.ts'
import {
  type OlderPolicies,
  olderAccessLog,
  olderPolicies,
  olderTracing,
} from './older-spellings.ts'
import {
  budgetSettings,
  databaseSettings,
  storageSettings,
  userTokenSettings,
} from './storage-settings.ts'
import { isDatabase, SETTINGS_WITHOUT_EFFECT } from './unserved-settings.ts'

const address = () =>
  scalar<Address>({
    what: 'an address to listen on',
    hint: 'write ip:port, localhost:port, unix:/path or off',
    parse: (text) => {
      if (text === 'off') return { kind: 'off' }
      const found = parseHost(text)
      if (found === undefined || found.kind === 'unix') return found
      const { kind: _, scheme, ...rest } = found
      // Any other name would have to be looked up, and the start would depend on the answer.
      const isHere = rest.host === 'localhost' || isAddress(rest.host)
      return scheme === undefined && isHere ? { kind: 'tcp', ...rest } : undefined
    },
  })

function isAddress(host: string): boolean {
  return host.includes(':') || IPV4.test(host)
}

const IPV4 = /^([0-9]{1,3}\.){3}[0-9]{1,3}$/

/** An address, never a name: who would look that up? */
const nameServer = () =>
  scalar<string>({
    what: 'the address of a name server',
    hint: 'write ip or ip:port, IPv6 in brackets',
    parse: (text) => {
      const found = parseHost(/[0-9]:[0-9]+$|\]:[0-9]+$/.test(text) ? text : `${text}:53`)
      if (found?.kind !== 'host' || found.scheme !== undefined) return undefined
      const { host, port } = found
      if (host.includes(':')) return `[${host}]:${port}`
      return IPV4.test(host) ? `${host}:${port}` : undefined
    },
  })

const hexKey = () =>
  settingSecret().check(({ value, issues }) => {
    if (value.file !== undefined || /^[0-9a-fA-F]{64}$/.test(value.secret)) return
    const hint = 'make one with `openssl rand -hex 32`'
    issues.push(issue(value, 'this is not 64 hexadecimal digits', { rule: 'malformed', hint }))
  })

const catalogText = z
  .string()
  .min(1)
  .check(({ value, issues }) => {
    const problem = checkCatalog(value)
    if (problem === undefined) return
    issues.push(issue(value, problem.message, { rule: 'malformed', hint: problem.hint }))
  })

const catalogSource = oneOfKeys(
  z.strictObject({
    file: file(checkCatalog).optional().describe('The path of a JSON file with the catalog.'),
    inline: z
      .union([catalogText, modelCatalog])
      .optional()
      .describe('The catalog itself, or JSON text with it.'),
  }),
  ['file', 'inline'],
).transform(({ file, inline }): CatalogSource => {
  if (file !== undefined) return file
  return typeof inline === 'string' ? { text: inline } : { inline: inline ?? null }
})

const count = () => z.int().min(1).max(10_000_000)

export const loggingSchema = z.strictObject({
  format: choice('text', 'json').prefault('text').describe('The form of a line.'),
  level: choice('error', 'warn', 'info', 'debug', 'trace')
    .prefault('info')
    .describe('The level of messages other than the access log.'),
})

/** A number in quotes, as whoever fills in variables writes it. */
const numberText = () =>
  scalar<number>({
    what: 'a number',
    hint: 'write a whole number from 1 to 1024, or `auto`',
    pattern: /^[1-9][0-9]{0,3}$/,
    parse: (text) => (Number(text) <= 1024 ? Number(text) : undefined),
  })

const attribute = () =>
  scalar<string>({
    what: 'an attribute',
    hint: "write it as in expressions: jwt.sub, request.headers['x-team']",
    maxLength: 256,
    pattern: /^[A-Za-z_]\w*(\.[A-Za-z_]\w*|\['[^'\\]{1,200}'\])*$/,
    // Names of headers have no case, and the names of claims that are words need no brackets.
    parse: (text) =>
      text
        .replace(/^request\.headers(\['|\.)[^']+/, (name) => name.toLowerCase())
        .replaceAll(/\['([A-Za-z_]\w*)'\]/g, '.$1'),
  })

const decisions = z.strictObject({
  keep: z
    .int()
    .min(0)
    .max(100_000)
    .prefault(1_000)
    .describe('Records that each process keeps in memory, the newest.'),
  show: z
    .array(attribute())
    .max(256)
    .prefault([])
    .describe(
      'Attributes whose values are shown: a name shows what is below it, too. Others are redacted; ' +
        'credentials, cookies, queries, bodies and `sensitiveHeaders` always are.',
    ),
  allowed: z
    .number()
    .min(0)
    .max(1)
    .prefault(0)
    .describe('The share of allowed requests that is recorded as well, from 0 to 1.'),
  file: z
    .strictObject({
      path: z
        .string()
        .min(1)
        .max(4096)
        .describe('The file; a relative path starts at the folder of this one.'),
      maxSize: byteSize().prefault('100Mi').describe('When it is full, another is begun.'),
      maxFiles: z
        .int()
        .min(0)
        .max(100_000)
        .prefault(10)
        .describe('Full files that are kept; older ones are deleted.'),
    })
    .optional()
    .describe('Every record as a line of JSON, chained by hashes: see `portcullis audit`.'),
})

const shape = {
  workers: z
    .union([z.int().min(1).max(1024), choice('auto'), numberText()])
    .prefault('auto')
    .describe(
      'Processes that share the ports; auto: one for each core of the machine or of the CPU limit, ' +
        'but no more than fit into the CPU and memory that a container asked for.',
    ),
  enableIpv6: z.boolean().prefault(true).describe('Listens on IPv6 as well as on IPv4.'),
  adminAddr: address()
    .prefault('localhost:15000')
    .describe('Where the admin API listens; `off` turns it off.'),
  adminAllowRemote: z
    .boolean()
    .prefault(false)
    .describe(
      'Lets `adminAddr` be an address that other machines can reach. Callers then need a token ' +
        'or, with `adminAuth`, a session.',
    ),
  adminAuth: adminAuthSettings,
  statsAddr: address().prefault('[::]:15020').describe('Where metrics are served.'),
  readinessAddr: address().prefault('[::]:15021').describe('Where readiness is served.'),
  dns: z
    .strictObject({
      lookupFamily: choice('All', 'Auto', 'V4Preferred', 'V4Only', 'V6Only')
        .prefault('Auto')
        .describe('Which addresses of a name are used.'),
      servers: z
        .array(nameServer())
        .min(1)
        .max(8)
        .optional()
        .describe('Name servers, as ip or ip:port, instead of those of the machine.'),
      edns0: z
        .boolean()
        .optional()
        .describe('Accepted from files written for other gateways; has no effect.'),
    })
    .prefault({})
    .describe('How names are looked up.'),
  logging: loggingSchema
    .extend(olderAccessLog)
    .prefault({})
    .describe(
      'The format of the log. For the contents of the access log, see `frontendPolicies.accessLog`.',
    ),
  histograms: choice('classic', 'native', 'both')
    .prefault('classic')
    .describe('The form of histograms in metrics.'),
  metrics: z
    .strictObject({
      remove: z.array(z.string().min(1)).max(256).prefault([]).describe('Metrics left out.'),
      fields: z
        .strictObject({
          add: z
            .record(labelName(), expression('any', 'log'))
            .prefault({})
            .describe('Further labels, by expression. Keep the number of values small.'),
        })
        .prefault({})
        .describe('Labels.'),
    })
    .prefault({})
    .describe('What is measured.'),
  connectionTerminationDeadline: duration()
    .prefault('5s')
    .describe('How long open connections may continue after the process gets SIGTERM.'),
  connectionMinTerminationDeadline: duration()
    .prefault('0s')
    .describe('How long it accepts new connections at least after that.'),
  limits: z
    .strictObject({
      connections: count().prefault(50_000).describe('Max client connections, over all workers.'),
      connectionsPerAddress: count()
        .prefault(10_000)
        .describe('Max client connections from one address.'),
      requests: count()
        .prefault(50_000)
        .describe(
          'Max requests under way, streams included, counted per worker; further ones get 503.',
        ),
      delay: duration()
        .prefault('1s')
        .describe(
          'How long requests may wait for the event loop; beyond that, some get 503 and Retry-After. 0s: no limit.',
        ),
    })
    .prefault({})
    .describe('Limits of the process.'),
  decisions: decisions
    .prefault({})
    .describe('Records of decisions, for `portcullis why` and for audits.'),
  backend: z
    .strictObject({
      connectTimeout: duration().prefault('10s').describe('How long connecting may take.'),
      poolIdleTimeout: duration().prefault('90s').describe('How long an idle one is kept.'),
      poolMaxAge: duration()
        .prefault('1h')
        .describe('After about so long a connection makes room for a new one.'),
      poolMaxSize: count()
        .optional()
        .describe(
          'Max connections to each endpoint, divided among the workers; each has one at least. Absent: no limit.',
        ),
      keepalives: keepalives().prefault({}).describe('TCP keep-alive.'),
    })
    .prefault({})
    .describe('Connections to backends, unless a policy sets them.'),
  storage: storageSettings,
  database: databaseSettings,
  budgets: budgetSettings,
  userTokens: userTokenSettings,
  session: z
    .strictObject({ key: hexKey().describe('64 hexadecimal digits.') })
    .optional()
    .describe(
      'Seals the ids of MCP sessions and of what model providers store for callers: replicas with the same key know the ids of each other, and ids survive restarts. By default `SESSION_KEY` of the environment, else a random key.',
    ),
  mcp: z
    .strictObject({
      sessionTtl: duration()
        .prefault('30m')
        .describe('How long the process of an unused session with a `stdio` server is kept.'),
    })
    .prefault({})
    .describe('MCP sessions.'),
  modelCatalog: z
    .array(catalogSource)
    .max(64)
    .prefault([])
    .describe(
      'Prices of models: files or the catalog itself; of a model that several name, the last one ' +
        'counts. A change takes effect at once.',
    ),
  sensitiveHeaders: z
    .array(headerName())
    .max(256)
    .prefault([])
    .describe('Headers whose values are never written anywhere.'),
  tracing: olderTracing,
  standardAttributes: z
    .strictObject({
      user: expression('any', 'log').optional().describe('The user.'),
      group: expression('any', 'log').optional().describe('The group.'),
    })
    .prefault({})
    .describe('Who sent a request, in records.'),
}

const withoutEffect = Object.fromEntries(
  SETTINGS_WITHOUT_EFFECT.map((key) => [
    key,
    z
      .unknown()
      .optional()
      .describe('Accepted from files written for other gateways; has no effect.'),
  ]),
)

export interface Config {
  readonly settings: Settings
  readonly policies: OlderPolicies
}

export const configSchema = aliased(
  { ...shape, ...withoutEffect },
  { workerThreads: 'workers' },
).transform((all): Config => {
  const value = all as z.output<z.ZodObject<typeof shape>>
  return { settings: toSettings(value), policies: olderPolicies(value.tracing, value.logging) }
})

let defaults: Settings | undefined

/** Made when they are asked for: most files have settings of their own. */
export function defaultSettings(): Settings {
  defaults ??= toSettings(z.strictObject(shape).parse({}))
  return defaults
}

function toSettings(value: z.output<z.ZodObject<typeof shape>>): Settings {
  const { backend, metrics, storage } = value
  return {
    workers: value.workers,
    enableIpv6: value.enableIpv6,
    admin: value.adminAddr,
    ...(value.adminAuth === undefined ? {} : { adminAuth: adminAuthOf(value.adminAuth) }),
    stats: value.statsAddr,
    readiness: value.readinessAddr,
    dns: {
      lookupFamily: value.dns.lookupFamily,
      ...(value.dns.servers === undefined ? {} : { servers: value.dns.servers }),
    },
    logging: { format: value.logging.format, level: value.logging.level },
    metrics: {
      histograms: value.histograms,
      remove: metrics.remove,
      labels: metrics.fields.add,
    },
    drain: {
      min: value.connectionMinTerminationDeadline,
      max: value.connectionTerminationDeadline,
    },
    limits: value.limits,
    decisions: omitUndefined(value.decisions),
    upstream: {
      connectTimeout: backend.connectTimeout,
      idleTimeout: backend.poolIdleTimeout,
      maxAge: backend.poolMaxAge,
      ...(backend.poolMaxSize === undefined ? {} : { maxConnections: backend.poolMaxSize }),
      keepalive: backend.keepalives,
    },
    // Names of the same two that other files use.
    storage: { mode: isDatabase(storage.mode) ? 'database' : 'readonly' },
    ...(value.database === undefined ? {} : { database: omitUndefined(value.database) }),
    ...(value.session === undefined ? {} : { session: value.session }),
    mcp: value.mcp,
    budgets: omitUndefined(value.budgets),
    userTokens: omitUndefined(value.userTokens),
    modelCatalog: value.modelCatalog,
    sensitiveHeaders: value.sensitiveHeaders.map((header) => header.toLowerCase()),
    standardAttributes: omitUndefined(value.standardAttributes),
  }
}

function adminAuthOf({ oidc, roles }: z.output<typeof adminAuthSettings> & object) {
  return { oidc: omitUndefined(oidc), roles: omitUndefined(roles) }
}
