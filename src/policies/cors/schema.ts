import * as z from 'zod'
import { duration, headerName, scalar } from '../scalars.ts'

const origin = () =>
  scalar<string>({
    what: 'an origin',
    hint: 'write *, https://app.example.com or https://*.example.com, without a path',
    pattern:
      /^(\*|null|[a-z][a-z0-9+.-]*:\/\/(\*|(\*\.)?[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:([0-9]{1,5}|\*))?)$/,
    parse: (text) => text.toLowerCase(),
  })

const method = () => z.string().regex(/^(\*|[!#$%&'*+\-.^_`|~0-9A-Za-z]+)$/)

export const cors = z
  .strictObject({
    allowOrigins: z
      .array(origin())
      .max(64)
      .prefault([])
      .describe('Origins that may read answers; `*` stands for any, also within a hostname.'),
    allowMethods: z.array(method()).max(64).prefault([]).describe('Methods that may be used.'),
    allowHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that may be sent.'),
    exposeHeaders: z.array(headerName()).max(64).prefault([]).describe('Headers that may be read.'),
    allowCredentials: z
      .boolean()
      .prefault(false)
      .describe('Whether cookies and the like are sent.'),
    maxAge: duration().optional().describe('How long browsers remember the answer.'),
  })
  .describe('Tells browsers what pages of other origins may do, and answers their preflights.')

export type Cors = z.output<typeof cors>
