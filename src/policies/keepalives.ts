import * as z from 'zod'
import { duration } from './scalars.ts'

const MINUTES_3 = 180_000

/** TCP keep-alive. */
export const keepalives = () =>
  z.strictObject({
    enabled: z.boolean().default(true).describe('Whether idle connections are probed.'),
    time: duration().default(MINUTES_3).describe('How long a connection is idle before that.'),
    interval: duration().default(MINUTES_3).describe('How long between two probes.'),
    retries: z.int().min(1).max(64).default(9).describe('Probes without an answer that end it.'),
  })
