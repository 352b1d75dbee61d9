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
import type { ListenerProgram, TracingProgram } from './program.ts'

/** What is told of the requests of a listener. */
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
  const log =
    logging && context.shared([logging], () => compileAccessLog(logging, context, hiddenHeaders))
  const traces = tracing && context.shared([tracing], () => traceTo(compilation, tracing, context))
  const labels = hasLabels ? compileMetricLabels(wanted, context, hiddenHeaders) : undefined
  const responseHeaders = [log, traces, labels].some((own) => own?.reads.responseHeaders === true)
  return {
    accessLog: log,
    tracing: traces,
    metricLabels: labels,
    needs: { requestBody: context.findings.readsBody, responseHeaders },
  }
}

const NOTHING_ADDED: TelemetryOptions = { labels: {}, hiddenHeaders: [] }

const NO_TELEMETRY = {
  accessLog: undefined,
  tracing: undefined,
  metricLabels: undefined,
  needs: { requestBody: false, responseHeaders: false },
} as const

function traceTo(
  { reach, contexts, services }: Compilation,
  policy: ValidPolicy<Tracing>,
  context: ReturnType<Compilation['contexts']['open']>,
): TracingProgram | undefined {
  const compiled = compileTracing(policy, context, services.telemetry?.hiddenHeaders ?? [])
  const { target, protocol, path, headers, resources } = compiled
  const address = addressOf(target, reach.backends)
  if (address === undefined) {
    contexts.report({
      code: 'PC0219',
      severity: 'error',
      message: 'traces cannot be sent there',
      origin: policy.origin,
      hint: 'name the host and port of a collector, a service, or a backend with one host',
    })
    return undefined
  }
  const collector = hashOf([{ address, protocol, path, headers, resources }])
  return { ...compiled, address, collector }
}

/** Scheme, host and port of a collector; of a backend with several endpoints those of the first. */
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
