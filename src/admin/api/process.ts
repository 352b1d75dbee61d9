import * as z from 'zod'
import { redact } from '../../model/redact.ts'
import { LEVELS } from '../../telemetry/log.ts'
import { ROLES } from '../callers.ts'
import { type Endpoint, ok } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { LLM_COSTS } from './llm-costs.ts'
import { LLM_KEYS } from './llm-keys.ts'
import { LLM_USAGE } from './llm-usage.ts'
import { summariseMetrics } from './metrics-summary.ts'
import { diagnosticSchema } from './reports.ts'

const storage = z.object({
  mode: z.enum(['readonly', 'database']),
  isWritable: z.boolean(),
  revision: z.int().describe('The revision of the stored changes; 0: none.'),
  isConnected: z
    .boolean()
    .nullable()
    .describe('Whether the database is connected; null: no database is configured.'),
  problem: z.string().nullable(),
})

const health = z
  .object({
    version: z.string(),
    isReady: z.boolean(),
    detail: z.string(),
    storage,
    diagnostics: z.object({ errors: z.int(), warnings: z.int() }),
  })
  .meta({ id: 'Health' })

const level = z.object({ level: z.enum([...LEVELS, 'off']) }).meta({ id: 'LogLevel' })

const catalogue = z
  .object({
    backends: z.array(
      z.object({
        backend: z.string(),
        models: z.array(z.object({ name: z.string(), provider: z.string() })),
        virtualModels: z.array(z.object({ name: z.string(), routing: z.string() })),
        providers: z.array(
          z.object({ name: z.string(), provider: z.string(), group: z.int(), address: z.string() }),
        ),
      }),
    ),
  })
  .meta({ id: 'Catalogue' })

const servers = z
  .object({
    backends: z.array(
      z.object({
        backend: z.string(),
        servers: z.array(z.object({ name: z.string(), transport: z.string() })),
      }),
    ),
  })
  .meta({ id: 'McpServers' })

export const PROCESS_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/health',
    isEarly: true,
    summary: 'The state of the gateway and its storage.',
    role: 'viewer',
    responses: { 200: { description: 'The state.', schema: health } },
    run: (_, deps) => ok(healthOf(deps)),
  },
  {
    method: 'GET',
    path: '/api/session',
    isEarly: true,
    summary: 'The identity and role of the caller.',
    role: 'viewer',
    responses: {
      200: {
        description: 'The caller.',
        schema: z
          .object({
            name: z.string(),
            role: z
              .enum(ROLES)
              .describe('Each role includes the permissions of the roles before it.'),
            logout: z
              .string()
              .nullable()
              .describe('The path to POST to for sign-out; null: sign-in is not configured.'),
          })
          .meta({ id: 'Session' }),
      },
    },
    run: ({ caller: { name, role, cookies } }) =>
      ok({ name, role, logout: cookies === undefined ? null : '/api/auth/logout' }),
  },
  {
    method: 'GET',
    path: '/api/diagnostics',
    summary: 'The diagnostics of the running configuration.',
    role: 'viewer',
    responses: {
      200: {
        description: 'The diagnostics.',
        schema: z.object({ diagnostics: z.array(diagnosticSchema) }),
      },
    },
    run: (_, { status, secrets }) =>
      ok(redact({ diagnostics: status().diagnostics }, { texts: secrets })),
  },
  {
    method: 'GET',
    path: '/api/lint',
    summary: 'Policy findings in the running configuration, as in `portcullis lint`.',
    role: 'viewer',
    responses: {
      200: {
        description: 'Findings.',
        schema: z.object({
          findings: z.array(diagnosticSchema),
          isComplete: z
            .boolean()
            .describe(
              'Whether they are those of the running configuration. If not, its policies are still being analyzed: these are the findings of the configuration before, if there was one.',
            ),
        }),
      },
    },
    run: (_, { status, secrets }) => {
      const { findings, earlierFindings = [] } = status()
      const isComplete = findings !== undefined
      return ok(redact({ findings: findings ?? earlierFindings, isComplete }, { texts: secrets }))
    },
  },
  {
    method: 'GET',
    path: '/api/metrics/summary',
    isEarly: true,
    summary: 'A summary of requests and denials since startup.',
    role: 'viewer',
    responses: {
      200: {
        description: 'The numbers.',
        schema: z
          .object({
            requests: z.object({
              total: z.number(),
              active: z.number(),
              byStatus: z.record(z.string(), z.number()),
              byRoute: z.record(z.string(), z.number()),
              byReason: z.record(z.string(), z.number()),
            }),
            decisions: z.object({
              byVerdict: z.record(z.string(), z.number()),
              deniedByPolicy: z.record(z.string(), z.number()),
            }),
            authenticationFailures: z.number(),
            llm: z
              .object({
                requests: z.record(z.string(), z.number()),
                tokens: z.record(z.string(), z.number()),
                cost: z.record(z.string(), z.number()).describe('In US dollars.'),
              })
              .describe('Calls to models, by model.'),
          })
          .meta({ id: 'MetricsSummary' }),
      },
    },
    run: async (_, { readMetrics }) => ok(summariseMetrics(await readMetrics())),
  },
  {
    method: 'GET',
    path: '/api/llm/catalogue',
    summary: 'Models that clients can request, and the providers that serve them.',
    role: 'viewer',
    responses: { 200: { description: 'By backend.', schema: catalogue } },
    run: (_, deps) => ok(modelsOf(deps)),
  },
  LLM_COSTS,
  LLM_KEYS,
  LLM_USAGE,
  {
    method: 'GET',
    path: '/api/mcp/servers',
    summary: 'MCP servers by backend.',
    role: 'viewer',
    responses: { 200: { description: 'By backend.', schema: servers } },
    run: (_, deps) => ok(serversOf(deps)),
  },
  {
    method: 'GET',
    path: '/api/logging',
    isEarly: true,
    summary: 'The log level. Records of the access log have the level `info`.',
    role: 'viewer',
    responses: { 200: { description: 'The level.', schema: level } },
    run: (_, { log }) => ok({ level: log.level() }),
  },
  {
    method: 'PUT',
    path: '/api/logging',
    isEarly: true,
    summary: 'Sets the log level of this gateway and its workers until it stops.',
    role: 'admin',
    body: level,
    responses: { 200: { description: 'The level.', schema: level } },
    run: ({ body }, { log }) => {
      const { level: after } = body as z.output<typeof level>
      const audited = { before: log.level(), after }
      return { ...ok({ level: after }), audited, afterAudit: () => log.setLevel(after) }
    },
  },
]

function healthOf({ version, status, configuration }: ApiDeps): z.output<typeof health> {
  const { isReady, detail, diagnostics } = status()
  const count = (severity: string) => diagnostics.filter((one) => one.severity === severity).length
  return {
    version,
    isReady,
    detail,
    storage: storageOf(configuration),
    diagnostics: { errors: count('error'), warnings: count('warning') },
  }
}

function storageOf({ store }: ApiDeps['configuration']): z.output<typeof storage> {
  if (store === undefined) {
    return { mode: 'readonly', isWritable: false, revision: 0, isConnected: null, problem: null }
  }
  const { revision, isConnected, problem: wrong = null } = store.state
  return { mode: 'database', isWritable: isConnected, revision, isConnected, problem: wrong }
}

function modelsOf({ status }: ApiDeps): z.output<typeof catalogue> {
  const all = (status().model?.backends ?? []).filter((one) => one.kind === 'ai')
  return {
    backends: all.map(({ name, models = [], virtualModels = [], groups }) => ({
      backend: name,
      models: models
        .filter(({ isInternal }) => !isInternal)
        .map((model) => ({ name: model.name, provider: model.provider })),
      virtualModels: virtualModels.map((model) => ({ name: model.name, routing: model.routing })),
      providers: groups.flatMap(({ providers }, group) =>
        providers.map(({ name, provider, endpoint }) => ({
          name,
          provider,
          group,
          address: `${endpoint.host}:${endpoint.port}`,
        })),
      ),
    })),
  }
}

function serversOf({ status }: ApiDeps): z.output<typeof servers> {
  const all = (status().model?.backends ?? []).filter((one) => one.kind === 'mcp')
  return {
    backends: all.map(({ name, targets }) => ({
      backend: name,
      servers: targets.map((target) => ({ name: target.name, transport: target.transport })),
    })),
  }
}
