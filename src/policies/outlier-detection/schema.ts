import * as z from 'zod'
import { duration, expression } from '../scalars.ts'
import { aliased } from '../shapes.ts'

const eviction = z
  .strictObject({
    duration: duration()
      .prefault('3s')
      .describe('The duration of the first eviction. It increases with each eviction.'),
    consecutiveFailures: z
      .int()
      .min(1)
      .max(1000)
      .prefault(5)
      .describe('The number of consecutive failures after which an endpoint is evicted.'),
    healthThreshold: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('The share of successful requests below which an endpoint is also evicted.'),
    restoreHealth: z
      .number()
      .min(0)
      .max(1)
      .prefault(1)
      .describe('The initial health of an endpoint after its eviction.'),
    maxEvicted: z
      .number()
      .min(0)
      .max(1)
      .prefault(0.5)
      .describe('Max share of endpoints evicted at the same time.'),
  })
  .optional()
  .describe('When to evict an endpoint and for how long.')

export const outlierDetection = aliased(
  {
    unhealthyExpression: expression('bool', 'log')
      .optional()
      .describe(
        'A CEL expression that returns true for failures. By default: 5xx, gRPC errors and connection errors.',
      ),
    eviction,
  },
  { unhealthyCondition: 'unhealthyExpression' },
).describe('Temporarily stops sending requests to endpoints that fail.')

export type OutlierDetection = z.output<typeof outlierDetection>
