import * as z from 'zod'
import { duration } from '../scalars.ts'

const count = () => z.int().min(1).max(1_000_000)

export const connectionLimits = z
  .strictObject({
    maxConnections: count()
      .optional()
      .describe(
        'Max connections to each endpoint at once. Divided among the workers; each has one at least.',
      ),
    maxPendingRequests: count()
      .prefault(1024)
      .describe(
        'Max requests that wait for a connection to an endpoint; further ones get 503. Divided among the workers.',
      ),
    maxRequestsPerConnection: count()
      .optional()
      .describe('After so many requests a connection is closed.'),
    maxAge: duration()
      .optional()
      .describe('After about so long a connection makes room for a new one.'),
    idleTimeout: duration().optional().describe('How long an unused connection is kept.'),
  })
  .describe('How many connections and waiting requests a backend may have.')

export type ConnectionLimits = z.output<typeof connectionLimits>
