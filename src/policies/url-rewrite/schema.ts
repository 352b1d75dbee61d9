import * as z from 'zod'
import { authority, newPath } from '../rewritten-url.ts'

export const urlRewrite = z
  .strictObject({
    authority: authority()
      .optional()
      .describe(
        'The Host that the backend sees. `auto`: the name of the backend, where it has one; ' +
          '`none`: the one of the request.',
      ),
    path: newPath().optional().describe('The path that the backend sees.'),
  })
  .describe('Changes host and path on the way to the backend.')

export type UrlRewrite = z.output<typeof urlRewrite>
