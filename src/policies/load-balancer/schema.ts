import * as z from 'zod'
import { choice, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const loadBalancer = z
  .strictObject({
    algorithm: choice('LeastRequest', 'RoundRobin', 'ConsistentHash')
      .prefault('LeastRequest')
      .describe(
        'LeastRequest: the less loaded of two random endpoints. RoundRobin: each endpoint in turn. ConsistentHash: the same endpoint for equal keys.',
      ),
    hashKey: expression('any')
      .optional()
      .describe('The key for ConsistentHash, as a CEL expression.'),
  })
  .check(({ value, issues }) => {
    const needsKey = value.algorithm === 'ConsistentHash'
    if (needsKey === (value.hashKey !== undefined)) return
    issues.push(
      needsKey
        ? issue(value, '`hashKey` is missing', {
            rule: 'missing',
            hint: "set the expression to hash, such as request.headers['x-session']",
          })
        : issue(
            value,
            `\`hashKey\` cannot be used with ${value.algorithm}`,
            { rule: 'excludes', hint: 'set `algorithm` to ConsistentHash' },
            ['hashKey'],
          ),
    )
  })
  .describe('How to choose among the endpoints of the backend.')

export type LoadBalancer = z.output<typeof loadBalancer>
