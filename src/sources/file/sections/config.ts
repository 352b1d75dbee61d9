import * as z from 'zod'
import type { CatalogSource, Settings } from '../../../model/settings.ts'
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
  scalar,
  settingSecret,
} from '../../../policies/schema.ts'
import { checkCatalog, modelCatalog } from '../../../protocols/llm/catalog/schema.ts'
import { omitUndefined } from '../omit-undefined.ts'
import { address, nameServer } from './address-settings.ts'
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

const hexKey = () =>
  settingSecret().check(({ value, issues }) => {
    if (value.file !== undefined || /^[0-9a-fA-F]{64}$/.test(value.secret)) return
    const hint = 'generate a key with `openssl rand -hex 32`'
    issues.push(issue(value, 'expected 64 hexadecimal digits', { rule: 'malformed', hint }))
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
      .describe('The catalog inline, as a mapping or a JSON string.'),
  }),
  ['file', 'inline'],
).transform(({ file, inline }): CatalogSource => {
  if (file !== undefined) return file
  return typeof inline === 'string' ? { text: inline } : { inline: inline ?? null }
})

const count = () => z.int().min(1).max(10_000_000)

export const loggingSchema = z.strictObject({
  format: choice('text', 'json').prefault('text').describe('The format of log lines.'),
  level: choice('error', 'warn', 'info', 'debug', 'trace')
    .prefault('info')
    .describe('The minimum level of log messages. The access log has the level `info`.'),
})

/** A number in quotes, which is common with variables. */
const numberText = () =>
  scalar<number>({
    what: 'a number',
    hint: 'use an integer from 1 to 1024, or `auto`',
    pattern: /^[1-9][0-9]{0,3}$/,
    parse: (text) => (Number(text) <= 1024 ? Number(text) : undefined),
  })

const attribute = () =>
  scalar<string>({
    what: 'an attribute',
    hint: "use the syntax of expressions: jwt.sub, request.headers['x-team']",
    maxLength: 256,
    pattern: /^[A-Za-z_]\w*(\.[A-Za-z_]\w*|\['[^'\\]{1,200}'\])*$/,
    // Header names are case-insensitive, and claim names that are identifiers need no brackets.
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
    .describe('The number of most recent records that each process keeps in memory.'),
  show: z
    .array(attribute())
    .max(256)
    .prefault([])
    .describe(
      'Attributes to record with their values. A name includes everything below it. Other values are redacted; ' +
        'credentials, cookies, query strings, bodies and `sensitiveHeaders` are always redacted.',
    ),
  allowed: z
    .number()
    .min(0)
    .max(1)
    .prefault(0)
    .describe('The share of allowed requests that is also recorded, from 0 to 1.'),
  file: z
    .strictObject({
      path: z
        .string()
        .min(1)
        .max(4096)
        .describe(
          'The path of the file. Relative paths are resolved against the folder of the configuration file.',
        ),
      maxSize: byteSize().prefault('100Mi').describe('The size at which the file is rotated.'),
      maxFiles: z
        .int()
        .min(0)
        .max(100_000)
        .prefault(10)
        .describe('The number of rotated files to keep. Older files are deleted.'),
    })
    .optional()
    .describe(
      'Write every record to a file, as lines of JSON chained by hashes. See `portcullis audit`.',
    ),
})

const shape = {
  workers: z
    .union([z.int().min(1).max(1024), choice('auto'), numberText()])
    .prefault('auto')
    .describe(
      'The number of worker processes that share the ports. auto: one per core of the machine or of the CPU limit, ' +
        'but no more than fit into the CPU and memory requests of the container.',
    ),
  enableIpv6: z.boolean().prefault(true).describe('Listen on IPv6 as well as IPv4.'),
  adminAddr: address()
    .prefault('localhost:15000')
    .describe('The address of the admin API, or `off` to disable it.'),
  adminAllowRemote: z
    .boolean()
    .prefault(false)
    .describe(
      'Allow `adminAddr` to be reachable from other machines. Callers then need a token ' +
        'or, with `adminAuth`, a session.',
    ),
  adminAuth: adminAuthSettings,
  statsAddr: address().prefault('[::]:15020').describe('The address that serves metrics.'),
  readinessAddr: address().prefault('[::]:15021').describe('The address that serves readiness.'),
  dns: z
    .strictObject({
      lookupFamily: choice('All', 'Auto', 'V4Preferred', 'V4Only', 'V6Only')
        .prefault('Auto')
        .describe('The address families to resolve names to.'),
      servers: z
        .array(nameServer())
        .min(1)
        .max(8)
        .optional()
        .describe('DNS servers to use instead of those of the machine, as ip or ip:port.'),
      edns0: z.boolean().optional().describe('Accepted for compatibility; has no effect.'),
    })
    .prefault({})
    .describe('Name resolution.'),
  logging: loggingSchema
    .extend(olderAccessLog)
    .prefault({})
    .describe('Log format. For the contents of the access log, see `frontendPolicies.accessLog`.'),
  histograms: choice('classic', 'native', 'both')
    .prefault('classic')
    .describe('The type of histograms in metrics.'),
  metrics: z
    .strictObject({
      remove: z.array(z.string().min(1)).max(256).prefault([]).describe('Metrics to omit.'),
      fields: z
        .strictObject({
          add: z
            .record(labelName(), expression('any', 'log'))
            .prefault({})
            .describe(
              'Additional labels, as CEL expressions. Keep the number of distinct values small.',
            ),
        })
        .prefault({})
        .describe('Metric labels.'),
    })
    .prefault({})
    .describe('Metrics.'),
  connectionTerminationDeadline: duration()
    .prefault('5s')
    .describe('How long open connections can continue after SIGTERM.'),
  connectionMinTerminationDeadline: duration()
    .prefault('0s')
    .describe('The minimum time during which new connections are still accepted after SIGTERM.'),
  limits: z
    .strictObject({
      connections: count().prefault(50_000).describe('Max client connections across all workers.'),
      connectionsPerAddress: count()
        .prefault(10_000)
        .describe('Max client connections from one address.'),
      requests: count()
        .prefault(50_000)
        .describe('Max requests in flight per worker, including streams. Excess requests get 503.'),
      delay: duration()
        .prefault('1s')
        .describe(
          'How long requests can wait for the event loop. Beyond that, some get 503 with Retry-After. 0s: no limit.',
        ),
    })
    .prefault({})
    .describe('Process-wide limits.'),
  decisions: decisions
    .prefault({})
    .describe('Decision records, for `portcullis why` and for audits.'),
  backend: z
    .strictObject({
      connectTimeout: duration()
        .prefault('10s')
        .describe('The timeout for establishing a connection.'),
      poolIdleTimeout: duration()
        .prefault('90s')
        .describe('How long idle connections are kept open.'),
      poolMaxAge: duration()
        .prefault('1h')
        .describe('The approximate age at which a connection is replaced.'),
      poolMaxSize: count()
        .optional()
        .describe(
          'Max connections to each endpoint, divided among the workers (at least one each). Default: no limit.',
        ),
      keepalives: keepalives().prefault({}).describe('TCP keep-alive.'),
    })
    .prefault({})
    .describe('Default settings for connections to backends. Policies override them.'),
  storage: storageSettings,
  database: databaseSettings,
  budgets: budgetSettings,
  userTokens: userTokenSettings,
  session: z
    .strictObject({ key: hexKey().describe('The key: 64 hexadecimal digits.') })
    .optional()
    .describe(
      "The key that seals the IDs of MCP sessions and of objects that model providers store for callers. Replicas with the same key accept each other's IDs, and IDs survive restarts. Defaults to the environment variable `SESSION_KEY`, otherwise to a random key.",
    ),
  mcp: z
    .strictObject({
      sessionTtl: duration()
        .prefault('30m')
        .describe('How long the process of a `stdio` server is kept for an unused session.'),
    })
    .prefault({})
    .describe('MCP sessions.'),
  modelCatalog: z
    .array(catalogSource)
    .max(64)
    .prefault([])
    .describe(
      'Model prices: files or inline catalogs. If several define the same model, the last one ' +
        'wins. Changes take effect immediately.',
    ),
  sensitiveHeaders: z
    .array(headerName())
    .max(256)
    .prefault([])
    .describe('Headers whose values are always redacted.'),
  tracing: olderTracing,
  standardAttributes: z
    .strictObject({
      user: expression('any', 'log').optional().describe('The user ID.'),
      group: expression('any', 'log').optional().describe('The group.'),
    })
    .prefault({})
    .describe('CEL expressions that identify the caller in records.'),
}

const withoutEffect = Object.fromEntries(
  SETTINGS_WITHOUT_EFFECT.map((key) => [
    key,
    z.unknown().optional().describe('Accepted for compatibility; has no effect.'),
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

/** Created on demand: most files have their own settings. */
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
    // Names of the same two modes that other files use.
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
