import type * as z from 'zod'
import { duration } from '../scalars.ts'
import { aliased } from '../shapes.ts'

export const timeout = aliased(
  {
    request: duration()
      .optional()
      .describe(
        'The timeout from the request to the end of the response, including policies and retries. 0s: no limit.',
      ),
    backendRequest: duration()
      .optional()
      .describe(
        'The timeout of each attempt, from the end of the request to the response headers. 0s: no limit. Defaults to 60s if neither is set.',
      ),
  },
  { requestTimeout: 'request', backendRequestTimeout: 'backendRequest' },
).describe('Timeouts after which the response is 504.')

export type Timeout = z.output<typeof timeout>

export function neverReached({ request = 0, backendRequest = 0 }: Timeout) {
  if (request === 0 || backendRequest <= request) return undefined
  return {
    message: '`backendRequest` is longer than `request`, which is always reached first',
    hint: 'increase `request`, which includes retries, or remove `backendRequest`',
  }
}
