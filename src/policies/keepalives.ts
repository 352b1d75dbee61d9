import * as z from 'zod'
import { duration } from './scalars.ts'

export const keepalives = () =>
  z.strictObject({
    enabled: z.boolean().prefault(true).describe('Whether to probe idle connections.'),
    time: duration()
      .prefault('3m')
      .describe('How long a connection must be idle before the first probe.'),
    interval: duration().prefault('3m').describe('The time between probes.'),
    retries: z
      .int()
      .min(1)
      .max(64)
      .prefault(9)
      .describe('The number of unanswered probes after which the connection is closed.'),
  })
