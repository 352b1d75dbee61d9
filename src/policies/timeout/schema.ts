import type * as z from 'zod'
import { duration } from '../scalars.ts'
import { aliased } from '../shapes.ts'

export const timeout = aliased(
  {
    request: duration()
      .optional()
      .describe('From the request to the end of the answer, policies and retries included.'),
    backendRequest: duration().optional().describe('The same for each attempt at a backend.'),
  },
  { requestTimeout: 'request', backendRequestTimeout: 'backendRequest' },
).describe('How long things may take before the answer is 504.')

export type Timeout = z.output<typeof timeout>
