import * as z from 'zod'
import { byteSize, duration, expression } from '../scalars.ts'

export const retry = z
  .strictObject({
    attempts: z.int().min(1).max(16).prefault(1).describe('Max retries.'),
    backoff: duration()
      .optional()
      .describe('How long to wait before the first retry; it doubles each time.'),
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
      .describe('Whether to try again if the connection failed or broke before a response.'),
    precondition: expression('bool', 'traffic')
      .optional()
      .describe(
        'Evaluated for the request: only if true, it may be tried again, whatever the reason.',
      ),
    condition: expression('bool', 'log')
      .optional()
      .describe('Evaluated for the response: if true, try again, whatever the status.'),
    maxBodyBytes: byteSize()
      .prefault('64Ki')
      .describe('Requests with a longer body are not tried again.'),
  })
  .describe('Retries failed requests, at another endpoint if there is one.')

export type Retry = z.output<typeof retry>
