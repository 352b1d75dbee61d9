import * as z from 'zod'
import { choice } from '../scalars.ts'

export const connect = z
  .strictObject({
    mode: choice('Deny', 'Route')
      .prefault('Deny')
      .describe('Deny: 405. Route: handled by routes like any other method.'),
  })
  .describe('What happens to the method CONNECT.')

export type Connect = z.output<typeof connect>
