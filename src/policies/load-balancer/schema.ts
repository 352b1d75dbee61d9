import * as z from 'zod'
import { choice, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const loadBalancer = z
  .strictObject({
    algorithm: choice('LeastRequest', 'RoundRobin', 'ConsistentHash')
      .prefault('LeastRequest')
      .describe(
        'LeastRequest: of two picked at random, the one with fewer requests. RoundRobin: in turn. ConsistentHash: the same endpoint for equal keys.',
      ),
    hashKey: expression('any').optional().describe('The key of ConsistentHash.'),
  })
  .check(({ value, issues }) => {
    const needsKey = value.algorithm === 'ConsistentHash'
    if (needsKey === (value.hashKey !== undefined)) return
    issues.push(
      needsKey
        ? issue(value, '`hashKey` is missing', {
            rule: 'missing',
            hint: "name what to hash, such as request.headers['x-session']",
          })
        : issue(
            value,
            `\`hashKey\` has no meaning for ${value.algorithm}`,
            { rule: 'excludes', hint: 'set `algorithm` to ConsistentHash' },
            ['hashKey'],
          ),
    )
  })
  .describe('How endpoints of the backend are chosen.')

export type LoadBalancer = z.output<typeof loadBalancer>
