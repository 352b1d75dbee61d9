import * as z from 'zod'
import { byteSize, duration, expression } from '../scalars.ts'

export const retry = z
  .strictObject({
    attempts: z.int().min(1).max(16).prefault(1).describe('How often to try again at most.'),
    backoff: duration().optional().describe('How long to wait first; it doubles each time.'),
    codes: z
      .array(z.int().min(400).max(599))
      .max(64)
      .prefault([502, 503, 504])
      .describe(
        'Statuses after which to try again; 504 also means an attempt that took longer than ' +
          '`timeout.backendRequest`.',
      ),
    connectionErrors: z
      .boolean()
      .prefault(true)
      .describe('Whether to try again when no connection came about or it broke before an answer.'),
    precondition: expression('bool', 'traffic')
      .optional()
      .describe(
        'Asked of the request: only where true, it may be tried again, whatever the reason.',
      ),
    condition: expression('bool', 'log')
      .optional()
      .describe('Asked of the answer: where true, try again, whatever the status.'),
    maxBodyBytes: byteSize()
      .prefault('64Ki')
      .describe('Requests with a longer body are not tried again.'),
  })
  .describe('Tries again, at another endpoint where there is one.')

export type Retry = z.output<typeof retry>
