import * as z from 'zod'
import { collectorHeaders } from '../collector-headers.ts'
import { choice, expression } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, toTarget } from '../target.ts'

const sampling = (what: string) =>
  z
    .union([z.boolean().transform(Number), z.number().min(0).max(1), expression('any', 'traffic')])
    .describe(what)

const attributes = (what: string) =>
  z.record(z.string().min(1).max(256), expression('any', 'log')).prefault({}).describe(what)

export { collectorHeaders } from '../collector-headers.ts'

export const tracing = oneOfKeys(
  z.strictObject({
    ...targetShape,
    protocol: choice('grpc', 'http').prefault('grpc').describe('The OTLP protocol.'),
    path: z
      .string()
      .regex(/^\/\S*$/)
      .prefault('/v1/traces')
      .describe('The path. Used with `http`.'),
    headers: collectorHeaders(),
    randomSampling: sampling('The share of requests that start a trace.').prefault(0),
    clientSampling: sampling('Whether to continue traces that clients started.').prefault(1),
    filter: expression('bool', 'log')
      .optional()
      .describe('Export only spans for which this expression is true.'),
    attributes: attributes('Additional span attributes. `span.name` sets the name of the span.'),
    resources: attributes('Resource attributes.'),
    remove: z
      .array(z.string().min(1).max(256))
      .max(64)
      .prefault([])
      .describe('Attributes to omit.'),
  }),
  TARGET_KEYS,
)
  .transform(({ host, service, backend, ...rest }) => ({
    target: toTarget({ host, service, backend }),
    ...rest,
  }))
  .describe('Exports traces with OTLP.')

export type Tracing = z.output<typeof tracing>
