import * as z from 'zod'
import { origin } from '../origins.ts'
import { duration, headerName } from '../scalars.ts'

const method = () => z.string().regex(/^(\*|[!#$%&'*+\-.^_`|~0-9A-Za-z]+)$/)

export const cors = z
  .strictObject({
    allowOrigins: z
      .array(origin())
      .max(64)
      .prefault([])
      .describe('Origins that may read responses; `*` matches any, also within a hostname.'),
    allowMethods: z.array(method()).max(64).prefault([]).describe('Methods that may be used.'),
    allowHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that may be sent.'),
    exposeHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that may be read.'),
    allowCredentials: z
      .boolean()
      .prefault(false)
      .describe('Whether cookies and the like are sent.'),
    maxAge: duration()
      .optional()
      .describe('How long browsers cache the response to a preflight request.'),
  })
  .describe(
    'Tells browsers what pages of other origins may do, and responds to their preflight requests.',
  )

export type Cors = z.output<typeof cors>
