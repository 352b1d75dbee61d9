import * as z from 'zod'
import { duration, expression } from '../scalars.ts'
import { aliased } from '../shapes.ts'

const eviction = z
  .strictObject({
    duration: duration().prefault('3s').describe('How long the first time; longer each time.'),
    consecutiveFailures: z
      .int()
      .min(1)
      .max(1000)
      .prefault(5)
      .describe('Failures in a row that take an endpoint out.'),
    healthThreshold: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('The share of successes below which an endpoint is taken out, too.'),
    restoreHealth: z
      .number()
      .min(0)
      .max(1)
      .prefault(1)
      .describe('The health that an endpoint comes back with.'),
    maxEvicted: z
      .number()
      .min(0)
      .max(1)
      .prefault(0.5)
      .describe('The largest share of endpoints that may be out at once.'),
  })
  .optional()
  .describe('When to take an endpoint out, and for how long.')

export const outlierDetection = aliased(
  {
    unhealthyExpression: expression('bool', 'log')
      .optional()
      .describe('What counts as a failure; 5xx, gRPC errors and broken connections by default.'),
    eviction,
  },
  { unhealthyCondition: 'unhealthyExpression' },
).describe('Takes endpoints that fail real requests out of the turn for a while.')

export type OutlierDetection = z.output<typeof outlierDetection>
