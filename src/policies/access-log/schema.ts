import * as z from 'zod'
import { expression } from '../scalars.ts'

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
    add: z
      .record(z.string().min(1).max(256), expression('any', 'log'))
      .prefault({})
      .describe('Further fields, by expression.'),
    remove: z.array(z.string().min(1).max(256)).max(64).prefault([]).describe('Fields left out.'),
  })
  .describe('What is written about each request.')

export type AccessLog = z.output<typeof accessLog>
