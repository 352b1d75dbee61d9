import * as z from 'zod'
import { duration, expression } from '../scalars.ts'

export const delay = z
  .strictObject({
    duration: z
      .union([duration(), expression('any')])
      .describe(
        'How long: `500ms`, or an expression. The expression returns a duration, or a number of ' +
          'milliseconds: `random() < 0.1 ? 500 : 0` delays one request in ten. A result that is ' +
          'not positive, or an error, delays nothing; the longest delay is one hour.',
      ),
  })
  .describe(
    'Fault injection: holds requests for a while before they are forwarded. Only requests that all ' +
      'other policies have admitted are delayed. The time counts for `timeout`.',
  )

export type Delay = z.output<typeof delay>
