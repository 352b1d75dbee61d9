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
      .describe(
        'Origins that can read responses. `*` matches any origin, and can be used within a hostname.',
      ),
    allowMethods: z.array(method()).max(64).prefault([]).describe('Methods that can be used.'),
    allowHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that can be sent.'),
    exposeHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that can be read.'),
    allowCredentials: z
      .boolean()
      .prefault(false)
      .describe('Whether browsers can send credentials such as cookies.'),
    maxAge: duration()
      .optional()
      .describe('How long browsers can cache the response to a preflight request.'),
  })
  .describe(
    'Cross-origin resource sharing: which other origins can use this resource in browsers. Responds to preflight requests.',
  )

export type Cors = z.output<typeof cors>
