import * as z from 'zod'
import { choice, expression } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const loadBalancer = z
  .strictObject({
    algorithm: choice('LeastRequest', 'RoundRobin', 'ConsistentHash')
      .prefault('LeastRequest')
      .describe(
        'LeastRequest: the less busy of two picked at random. RoundRobin: in turn. ' +
          'ConsistentHash: equal keys go to the same endpoint.',
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
  .describe('Which endpoint of the backend gets a request.')

export type LoadBalancer = z.output<typeof loadBalancer>
