import * as z from 'zod'
import { duration, expression } from '../scalars.ts'
import { aliased } from '../shapes.ts'

const eviction = z
  .strictObject({
    duration: duration()
      .prefault('3s')
      .describe('How long the first time; it increases with each eviction.'),
    consecutiveFailures: z
      .int()
      .min(1)
      .max(1000)
      .prefault(5)
      .describe('Consecutive failures after which an endpoint gets no more requests.'),
    healthThreshold: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('The share of successes below which an endpoint is evicted as well.'),
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
      .describe('The largest share of endpoints that may be evicted at once.'),
  })
  .optional()
  .describe('When to evict an endpoint, and for how long.')

export const outlierDetection = aliased(
  {
    unhealthyExpression: expression('bool', 'log')
      .optional()
      .describe('What counts as a failure; 5xx, gRPC errors and broken connections by default.'),
    eviction,
  },
  { unhealthyCondition: 'unhealthyExpression' },
).describe('Stops sending requests to endpoints that fail real ones, for a while.')

export type OutlierDetection = z.output<typeof outlierDetection>
