import * as z from 'zod'
import type { Target } from '../../../model/backend.ts'
import type { AccessLog } from '../../../policies/access-log/schema.ts'
import { choice, expression, parseHost, scalar } from '../../../policies/schema.ts'
import { collectorHeaders, type Tracing } from '../../../policies/tracing/schema.ts'

/** Policies that files written for other gateways set below `config`. */
export interface OlderPolicies {
  readonly tracing?: Tracing
  readonly accessLog?: AccessLog
}

/** The key below `config`, and the equivalent policy of `frontendPolicies`. */
export const OLDER_SPELLINGS = [
  { path: ['tracing'], kind: 'tracing' },
  { path: ['logging', 'filter'], kind: 'accessLog' },
  { path: ['logging', 'fields'], kind: 'accessLog' },
] as const satisfies readonly { path: readonly string[]; kind: keyof OlderPolicies }[]

const fields = () =>
  z.strictObject({
    add: z
      .record(z.string().min(1).max(256), expression('any', 'log'))
      .prefault({})
      .describe('Additional fields, as CEL expressions.'),
    remove: z.array(z.string().min(1).max(256)).max(64).prefault([]).describe('Fields to omit.'),
  })

interface Collector {
  readonly target: Target
  readonly path?: string
}

const endpoint = () =>
  scalar<Collector>({
    what: 'a collector URL',
    hint: 'use http://host:port or https://host:port',
    parse: (text) => {
      const [, host = '', path = '/'] = /^((?:https?:\/\/)?[^/]+)(\/[^\s?#]*)?$/i.exec(text) ?? []
      const target = parseHost(host)
      if (target === undefined) return undefined
      return path === '/' ? { target } : { target, path }
    },
  })

const sampling = (what: string) =>
  z
    .union([z.boolean().transform(Number), z.number().min(0).max(1), expression('any', 'traffic')])
    .describe(what)

export const olderTracing = z
  .strictObject({
    otlpEndpoint: endpoint().describe('The address of the OTLP collector.'),
    otlpProtocol: choice('grpc', 'http').prefault('grpc').describe('The OTLP protocol.'),
    path: z
      .string()
      .regex(/^\/\S*$/)
      .optional()
      .describe('The path. Used with `http`.'),
    headers: collectorHeaders(),
    randomSampling: sampling('The share of requests that start a trace.').prefault(0),
    clientSampling: sampling('Whether to continue traces that clients started.').prefault(1),
    fields: fields().prefault({}).describe('Span attributes.'),
  })
  .optional()
  .describe('The older form of `frontendPolicies.tracing`.')

/** The keys of `config.logging` that configure the access log. */
export const olderAccessLog = {
  filter: expression('bool', 'log')
    .optional()
    .describe('The older form of `frontendPolicies.accessLog.filter`.'),
  fields: fields()
    .optional()
    .describe('The older form of `add` and `remove` in `frontendPolicies.accessLog`.'),
}

export function olderPolicies(
  tracing: z.output<typeof olderTracing>,
  { filter, fields }: z.output<z.ZodObject<typeof olderAccessLog>>,
): OlderPolicies {
  const isLogged = filter !== undefined || fields !== undefined
  return {
    ...(tracing === undefined ? {} : { tracing: tracingOf(tracing) }),
    ...(isLogged ? { accessLog: { enabled: true, filter, sample: 1, ...logged(fields) } } : {}),
  }
}

function logged(own: z.output<ReturnType<typeof fields>> | undefined) {
  return { add: own?.add ?? {}, remove: own?.remove ?? [] }
}

function tracingOf(older: NonNullable<z.output<typeof olderTracing>>): Tracing {
  const { otlpEndpoint, otlpProtocol, path, randomSampling, clientSampling, fields, headers } =
    older
  return {
    target: otlpEndpoint.target,
    protocol: otlpProtocol,
    path: path ?? otlpEndpoint.path ?? '/v1/traces',
    ...(headers === undefined ? {} : { headers }),
    randomSampling,
    clientSampling,
    attributes: fields.add,
    resources: {},
    remove: fields.remove,
  }
}
