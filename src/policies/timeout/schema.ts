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
    responseIdle: duration()
      .optional()
      .describe(
        'The timeout of each pause in a response that has begun, while the client accepts more of it, and of a WebSocket or other upgraded connection without bytes in either direction. 0s: no limit, for streams that are silent for longer. Default: 5m, and 1h for upgraded connections; no limit if `request` is set.',
      ),
  },
  {
    requestTimeout: 'request',
    backendRequestTimeout: 'backendRequest',
    responseIdleTimeout: 'responseIdle',
  },
).describe('Timeouts after which the response is 504, or is cut off if it has begun.')

export type Timeout = z.output<typeof timeout>

export function neverReached({ request = 0, backendRequest = 0 }: Timeout) {
  if (request === 0 || backendRequest <= request) return undefined
  return {
    message: '`backendRequest` is longer than `request`, which is always reached first',
    hint: 'increase `request`, which includes retries, or remove `backendRequest`',
  }
}
