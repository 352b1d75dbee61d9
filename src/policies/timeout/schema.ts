import type * as z from 'zod'
import { duration } from '../scalars.ts'
import { aliased } from '../shapes.ts'

export const timeout = aliased(
  {
    request: duration()
      .optional()
      .describe(
        'From the request to the end of the response, including policies and retries; 0s: no limit.',
      ),
    backendRequest: duration()
      .optional()
      .describe(
        'For each attempt at a backend: from the end of the request to the head of the response; 0s: no limit. 60s where neither is written.',
      ),
  },
  { requestTimeout: 'request', backendRequestTimeout: 'backendRequest' },
).describe('How long things may take before the response is 504.')

export type Timeout = z.output<typeof timeout>
