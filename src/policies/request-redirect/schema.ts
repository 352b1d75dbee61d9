import * as z from 'zod'
import { authority, newPath } from '../rewritten-url.ts'
import { choice } from '../scalars.ts'

const STATUSES = [301, 302, 303, 307, 308] as const

export const requestRedirect = z
  .strictObject({
    scheme: choice('http', 'https')
      .optional()
      .describe('The scheme. Defaults to that of the request.'),
    authority: authority()
      .optional()
      .describe('The host and port. Default to those of the request.'),
    path: newPath().optional().describe('The path. Defaults to that of the request.'),
    status: z.literal(STATUSES).prefault(302).describe('The status of the response.'),
  })
  .describe('Returns a redirect.')

export type RequestRedirect = z.output<typeof requestRedirect>
