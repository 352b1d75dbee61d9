import * as z from 'zod'
import { duration, hostname, port } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'

const httpProbe = z.strictObject({
  path: z
    .string()
    .regex(/^\/\S*$/)
    .prefault('/')
    .describe('The path to request.'),
  host: hostname().optional().describe('The Host to send; by default, that of the backend.'),
  codes: z
    .array(z.int().min(100).max(599))
    .min(1)
    .max(64)
    .prefault([200])
    .describe('Statuses that mean healthy.'),
})

export const healthCheck = oneOfKeys(
  z.strictObject({
    http: httpProbe.optional().describe('Sends GET requests.'),
    tcp: z.strictObject({}).optional().describe('Only opens a connection.'),
    port: port()
      .optional()
      .describe(
        'The port to check; by default, that of the endpoint. Another one is checked over HTTP/1.1, whatever the backend speaks.',
      ),
    interval: duration().prefault('10s').describe('How long between two checks.'),
    timeout: duration().prefault('2s').describe('How long a check may take.'),
    unhealthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(3)
      .describe('Consecutive failures after which an endpoint gets no more requests.'),
    healthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(1)
      .describe('Consecutive successes after which it gets requests again.'),
  }),
  ['http', 'tcp'],
).describe('Checks the health of each endpoint at an interval.')

export type HealthCheck = z.output<typeof healthCheck>
