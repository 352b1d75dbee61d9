import type { Backend, Target } from '../model/backend.ts'
import { hashOf } from '../model/hash.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { compileAccessLog } from '../policies/access-log/compile.ts'
import type { AccessLog } from '../policies/access-log/schema.ts'
import { compileMetricLabels } from '../policies/metric-labels.ts'
import { compileTracing } from '../policies/tracing/compile.ts'
import type { Tracing } from '../policies/tracing/schema.ts'
import type { Effective } from '../reach/effective.ts'
import type { Compilation } from './compilation.ts'
import type { TelemetryOptions } from './compile-deps.ts'
import type { AccessLogProgram, Collector, ListenerProgram, TracingProgram } from './program.ts'

/** Compiles the telemetry of a listener's requests. */
export function compileFrontend(
  compilation: Compilation,
  { byKind }: Effective,
): Pick<ListenerProgram, 'accessLog' | 'tracing' | 'metricLabels' | 'needs'> {
  const { labels: wanted, hiddenHeaders } = compilation.services.telemetry ?? NOTHING_ADDED
  const hasLabels = Object.keys(wanted).length > 0
  const logging = byKind.get('accessLog')?.[0] as ValidPolicy<AccessLog> | undefined
  const tracing = byKind.get('tracing')?.[0] as ValidPolicy<Tracing> | undefined
  if (logging === undefined && tracing === undefined && !hasLabels) return NO_TELEMETRY
  const context = compilation.contexts.open()
  const log = logging && context.shared([logging], () => logTo(compilation, logging, context))
  const traces = tracing && context.shared([tracing], () => traceTo(compilation, tracing, context))
  const labels = hasLabels ? compileMetricLabels(wanted, context, hiddenHeaders) : undefined
  const reads = [log, log?.otlp, traces, labels].flatMap((own) => own?.reads ?? [])
  return {
    accessLog: log,
    tracing: traces,
    metricLabels: labels,
    needs: {
      requestBody: context.findings.readsBody,
      responseHeaders: reads.some((one) => one.responseHeaders),
      completion: reads.some((one) => one.completion),
    },
  }
}

const NOTHING_ADDED: TelemetryOptions = { labels: {}, hiddenHeaders: [] }

const NO_TELEMETRY = {
  accessLog: undefined,
  tracing: undefined,
  metricLabels: undefined,
  needs: { requestBody: false, responseHeaders: false, completion: false },
} as const

type Context = ReturnType<Compilation['contexts']['open']>

function logTo(
  compilation: Compilation,
  policy: ValidPolicy<AccessLog>,
  context: Context,
): AccessLogProgram {
  const { telemetry } = compilation.services
  const compiled = compileAccessLog(policy, context, telemetry?.hiddenHeaders ?? [])
  const { otlp } = compiled
  if (otlp === undefined) return { ...compiled, otlp }
  const { target, protocol, path, headers } = otlp
  const words = { signal: 'logs', protocol, path, headers }
  const collector = collectorOf(compilation, policy, 'logs', target, words)
  return { ...compiled, otlp: collector && { ...otlp, ...collector } }
}

function traceTo(
  compilation: Compilation,
  policy: ValidPolicy<Tracing>,
  context: Context,
): TracingProgram | undefined {
  const { telemetry } = compilation.services
  const compiled = compileTracing(policy, context, telemetry?.hiddenHeaders ?? [])
  const { target, protocol, path, headers, resources } = compiled
  const words = { protocol, path, headers, resources }
  const collector = collectorOf(compilation, policy, 'traces', target, words)
  return collector && { ...compiled, ...collector }
}

/** `words`: the part that is the same for everything sent there. */
function collectorOf(
  { reach, contexts }: Compilation,
  { origin }: ValidPolicy,
  what: 'traces' | 'logs',
  target: Target,
  words: object,
): Collector | undefined {
  const address = addressOf(target, reach.backends)
  if (address !== undefined) return { address, collector: hashOf([{ address, ...words }]) }
  contexts.report({
    code: 'PC0219',
    severity: 'error',
    message: `${what} cannot be exported to this target`,
    origin,
    hint: 'use the host and port of a collector, a service, or a backend with a single host',
  })
  return undefined
}

/** Scheme, host and port of a collector; for a backend with several endpoints, of its first one. */
function addressOf(
  target: Target | Backend,
  backends: ReadonlyMap<string, Backend>,
): string | undefined {
  switch (target.kind) {
    case 'host': {
      const endpoint = 'endpoints' in target ? target.endpoints[0] : target
      if (endpoint === undefined || !('host' in endpoint)) return undefined
      const { host, port, scheme = 'http' } = endpoint
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
    }
    case 'service':
      return `http://${target.service}.${target.namespace}.svc:${target.port}`
    case 'backend': {
      const backend = backends.get(target.backend)
      return backend && addressOf(backend, backends)
    }
    default:
      return undefined
  }
}
