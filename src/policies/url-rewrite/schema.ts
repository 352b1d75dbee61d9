import * as z from 'zod'
import { authority, newPath } from '../rewritten-url.ts'

export const urlRewrite = z
  .strictObject({
    authority: authority()
      .optional()
      .describe(
        'The Host that the backend sees. `auto`: the name of the backend, with its port, where it ' +
          'has one and not only an address; `none`: the one of the request. Absent: the name of a ' +
          'backend that is written as a URL, else the one of the request.',
      ),
    path: newPath().optional().describe('The path that the backend sees.'),
  })
  .describe('Changes host and path on the way to the backend.')

export type UrlRewrite = z.output<typeof urlRewrite>
