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
    protocol: choice('grpc', 'http').prefault('grpc').describe('The form of OTLP.'),
    path: z
      .string()
      .regex(/^\/\S*$/)
      .prefault('/v1/traces')
      .describe('The path. With `http`.'),
    headers: collectorHeaders(),
    randomSampling: sampling('The share of requests that begin a trace.').prefault(0),
    clientSampling: sampling('Whether traces that clients begin are continued.').prefault(1),
    filter: expression('bool', 'log')
      .optional()
      .describe('Only spans for which this is true are sent.'),
    attributes: attributes('Further attributes of spans; `span.name` is the name of the span.'),
    resources: attributes('Attributes of the process.'),
    remove: z.array(z.string().min(1).max(256)).max(64).prefault([]).describe('Left out.'),
  }),
  TARGET_KEYS,
)
  .transform(({ host, service, backend, ...rest }) => ({
    target: toTarget({ host, service, backend }),
    ...rest,
  }))
  .describe('Sends traces by OTLP.')

export type Tracing = z.output<typeof tracing>
