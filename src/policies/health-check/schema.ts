import * as z from 'zod'
import { duration, hostname, port } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'

const httpProbe = z.strictObject({
  path: z
    .string()
    .regex(/^\/\S*$/)
    .prefault('/')
    .describe('The path to ask for.'),
  host: hostname().optional().describe('The Host to ask with; that of the backend.'),
  codes: z
    .array(z.int().min(100).max(599))
    .min(1)
    .max(64)
    .prefault([200])
    .describe('Statuses that mean healthy.'),
})

export const healthCheck = oneOfKeys(
  z.strictObject({
    http: httpProbe.optional().describe('Asks with GET.'),
    tcp: z.strictObject({}).optional().describe('Only opens a connection.'),
    port: port().optional().describe('The port to ask on; that of the endpoint.'),
    interval: duration().prefault('10s').describe('How long between two checks.'),
    timeout: duration().prefault('2s').describe('How long a check may take.'),
    unhealthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(3)
      .describe('Failures in a row that take an endpoint out.'),
    healthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(1)
      .describe('Successes in a row that bring it back.'),
  }),
  ['http', 'tcp'],
).describe('Asks each endpoint, again and again, whether it is well.')

export type HealthCheck = z.output<typeof healthCheck>
