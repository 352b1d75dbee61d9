import * as z from 'zod'
import { authority, newPath } from '../rewritten-url.ts'

export const urlRewrite = z
  .strictObject({
    authority: authority()
      .optional()
      .describe(
        'The Host header to send to the backend. `auto`: the hostname of the backend and its port, or that of the request if the backend ' +
          'has only an IP address. `none`: that of the request. Default: the hostname of a ' +
          'backend that is configured as a URL, otherwise that of the request.',
      ),
    path: newPath().optional().describe('The path to send to the backend.'),
  })
  .describe('Rewrites the host and path of requests to the backend.')

export type UrlRewrite = z.output<typeof urlRewrite>
