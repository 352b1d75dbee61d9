import * as z from 'zod'
import { choice } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const connect = z
  .strictObject({
    mode: choice('Deny', 'Route')
      .prefault('Deny')
      .describe('Deny: responds with 405. Route is rejected.'),
  })
  .check(({ value, issues }) => {
    if (value.mode === 'Deny') return
    const hint = 'CONNECT requests always get 405; remove this setting'
    const params = { rule: 'unsupported', hint } as const
    issues.push(issue(value, 'routing CONNECT requests is not supported', params, ['mode']))
  })
  .describe('How to handle CONNECT requests.')

export type Connect = z.output<typeof connect>
