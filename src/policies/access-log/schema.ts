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
    protocol: choice('grpc', 'http').prefault('grpc').describe('The form of OTLP.'),
    path: z
      .string()
      .regex(/^\/\S*$/)
      .prefault('/v1/logs')
      .describe('The path. With `http`.'),
    headers: collectorHeaders(),
    filter: expression('bool', 'log')
      .optional()
      .describe('Only requests for which this is true are sent; by default that of the log.'),
    fields: z
      .strictObject({
        add: added().describe('Further fields, by expression.'),
        remove: removed().describe('Fields left out.'),
      })
      .optional()
      .describe('In place of `add` and `remove` of the log.'),
  }),
  TARGET_KEYS,
).transform(withTarget)

export const accessLog = z
  .strictObject({
    enabled: z.boolean().prefault(true).describe('Whether there is an access log.'),
    filter: expression('bool', 'log')
      .optional()
      .describe('Only requests for which this is true are written.'),
    sample: z
      .number()
      .min(0)
      .max(1)
      .prefault(1)
      .describe('The share of requests that are written; denials always are.'),
    add: added().describe('Further fields, by expression.'),
    remove: removed().describe('Fields left out.'),
    otlp: otlp
      .optional()
      .describe('A collector that gets each record by OTLP, beside the log of the process.'),
  })
  .describe('What is written about each request.')

export type AccessLog = z.output<typeof accessLog>
