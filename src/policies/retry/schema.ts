import * as z from 'zod'
import { byteSize, duration, expression } from '../scalars.ts'

export const retry = z
  .strictObject({
    attempts: z.int().min(1).max(16).prefault(1).describe('Max retries.'),
    backoff: duration()
      .optional()
      .describe('The delay before the first retry. It doubles with each retry.'),
    codes: z
      .array(z.int().min(400).max(599))
      .max(64)
      .prefault([502, 503, 504])
      .describe(
        'Status codes to retry. 504 includes attempts that took longer than ' +
          '`timeout.backendRequest`.',
      ),
    connectionErrors: z
      .boolean()
      .prefault(true)
      .describe('Whether to retry if the connection failed or was closed before a response.'),
    precondition: expression('bool', 'traffic')
      .optional()
      .describe('A CEL expression over the request: if not true, the request is never retried.'),
    condition: expression('bool', 'log')
      .optional()
      .describe(
        'A CEL expression over the response: if true, the request is retried regardless of the status.',
      ),
    maxBodyBytes: byteSize()
      .prefault('64Ki')
      .describe('Requests with a larger body are not retried.'),
  })
  .describe('Retries failed requests, on another endpoint if available.')

export type Retry = z.output<typeof retry>
