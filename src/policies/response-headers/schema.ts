import * as z from 'zod'
import { fieldName, headerChanges } from '../header-changes.ts'
import { expression } from '../scalars.ts'

export const responseHeaders = headerChanges()
  .extend({
    compute: z
      .record(fieldName(), expression('any', 'response'))
      .optional()
      .describe(
        'Headers that get the value of an expression, which may read `response`; removed if it has ' +
          'no value. Applied after all headers above, those of other levels included.',
      ),
  })
  .describe('Changes headers of the response: first `remove`, then `set`, then `add`.')

export type ResponseHeaders = z.output<typeof responseHeaders>
