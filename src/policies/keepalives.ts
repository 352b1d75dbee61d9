import * as z from 'zod'
import { duration } from './scalars.ts'

/** TCP keep-alive. */
export const keepalives = () =>
  z.strictObject({
    enabled: z.boolean().prefault(true).describe('Whether idle connections are probed.'),
    time: duration().prefault('3m').describe('How long a connection is idle before that.'),
    interval: duration().prefault('3m').describe('How long between two probes.'),
    retries: z
      .int()
      .min(1)
      .max(64)
      .prefault(9)
      .describe('Unanswered probes after which the connection is closed.'),
  })
