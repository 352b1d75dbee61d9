import * as z from 'zod'
import { collectorHeaders } from '../collector-headers.ts'
import { choice, expression } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const added = () => z.record(z.string().min(1).max(256), expression('any', 'log')).prefault({})
const removed = () => z.array(z.string().min(1).max(256)).max(64).prefault([])

const otlp = oneOfKeys(
  z.strictObject({
    ...targetShape,
    protocol: choice('grpc', 'http').prefault('grpc').describe('The OTLP protocol.'),
    path: z
      .string()
      .regex(/^\/\S*$/)
      .prefault('/v1/logs')
      .describe('The path. Used with `http`.'),
    headers: collectorHeaders(),
    filter: expression('bool', 'log')
      .optional()
      .describe(
        'Export only requests for which this expression is true. Defaults to the filter of the log.',
      ),
    fields: z
      .strictObject({
        add: added().describe('Additional fields, as CEL expressions.'),
        remove: removed().describe('Fields to omit.'),
      })
      .optional()
      .describe('Fields to export, instead of `add` and `remove` of the log.'),
  }),
  TARGET_KEYS,
).transform(withTarget)

export const accessLog = z
  .strictObject({
    enabled: z.boolean().prefault(true).describe('Whether to write an access log.'),
    filter: expression('bool', 'log')
      .optional()
      .describe('Log only requests for which this expression is true.'),
    sample: z
      .number()
      .min(0)
      .max(1)
      .prefault(1)
      .describe('The share of requests to log. Denied requests are always logged.'),
    add: added().describe('Additional fields, as CEL expressions.'),
    remove: removed().describe('Fields to omit.'),
    otlp: otlp.optional().describe('Also exports each record to an OTLP collector.'),
  })
  .describe('The contents of the access log.')

export type AccessLog = z.output<typeof accessLog>
