import * as z from 'zod'
import { duration } from '../scalars.ts'

const count = () => z.int().min(1).max(1_000_000)

export const connectionLimits = z
  .strictObject({
    maxConnections: count()
      .optional()
      .describe(
        'Max concurrent connections to each endpoint, divided among the workers (at least one each).',
      ),
    maxPendingRequests: count()
      .prefault(1024)
      .describe(
        'Max requests waiting for a connection to an endpoint, divided among the workers. Excess requests get 503.',
      ),
    maxRequestsPerConnection: count()
      .optional()
      .describe('Max requests on a connection before it is closed.'),
    maxAge: duration()
      .optional()
      .describe('The approximate age at which a connection is replaced.'),
    idleTimeout: duration().optional().describe('How long idle connections are kept open.'),
  })
  .describe('Limits connections and pending requests to a backend.')

export type ConnectionLimits = z.output<typeof connectionLimits>
