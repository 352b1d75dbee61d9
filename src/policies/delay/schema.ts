import * as z from 'zod'
import { duration, expression } from '../scalars.ts'

export const delay = z
  .strictObject({
    duration: z
      .union([duration(), expression('any')])
      .describe(
        'The delay: `500ms`, or a CEL expression that returns a duration or a number of ' +
          'milliseconds: `random() < 0.1 ? 500 : 0` delays one request in ten. A result that is ' +
          'not positive, or an error, does not delay the request. The max delay is one hour.',
      ),
  })
  .describe(
    'Fault injection: delays requests before they are forwarded. Only requests that all ' +
      'other policies have admitted are delayed. The delay counts towards `timeout`.',
  )

export type Delay = z.output<typeof delay>
