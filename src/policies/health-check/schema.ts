import * as z from 'zod'
import { duration, hostname, port } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'

const httpProbe = z.strictObject({
  path: z
    .string()
    .regex(/^\/\S*$/)
    .prefault('/')
    .describe('The path to request.'),
  host: hostname().optional().describe('The Host header to send. Defaults to that of the backend.'),
  codes: z
    .array(z.int().min(100).max(599))
    .min(1)
    .max(64)
    .prefault([200])
    .describe('Status codes of healthy endpoints.'),
})

export const healthCheck = oneOfKeys(
  z.strictObject({
    http: httpProbe.optional().describe('Sends HTTP GET requests.'),
    tcp: z.strictObject({}).optional().describe('Only opens a TCP connection.'),
    port: port()
      .optional()
      .describe(
        'The port to check. Defaults to the port of the endpoint. A different port is always checked over HTTP/1.1.',
      ),
    interval: duration().prefault('10s').describe('The time between checks.'),
    timeout: duration().prefault('2s').describe('The timeout of a check.'),
    unhealthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(3)
      .describe('The number of consecutive failures after which an endpoint is unhealthy.'),
    healthyThreshold: z
      .int()
      .min(1)
      .max(100)
      .prefault(1)
      .describe('The number of consecutive successes after which an endpoint is healthy again.'),
  }),
  ['http', 'tcp'],
).describe('Actively checks the health of each endpoint.')

export type HealthCheck = z.output<typeof healthCheck>
