import * as z from 'zod'
import { choice } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const connect = z
  .strictObject({
    mode: choice('Deny', 'Route')
      .prefault('Deny')
      .describe('Deny: 405. Route, which files written for other gateways have, is rejected.'),
  })
  .check(({ value, issues }) => {
    if (value.mode === 'Deny') return
    const hint = 'CONNECT is answered with 405, whatever is said here; leave it out'
    const params = { rule: 'unsupported', hint } as const
    issues.push(issue(value, 'routes do not take CONNECT', params, ['mode']))
  })
  .describe('What happens to the method CONNECT.')

export type Connect = z.output<typeof connect>
