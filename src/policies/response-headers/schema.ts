import * as z from 'zod'
import { fieldName, headerChanges } from '../header-changes.ts'
import { expression } from '../scalars.ts'

export const responseHeaders = headerChanges()
  .extend({
    compute: z
      .record(fieldName(), expression('any', 'response'))
      .optional()
      .describe(
        'Headers to set, as CEL expressions, which can read `response`. A header is removed if its expression has ' +
          'no value. Applied after all other header changes, including those of other levels.',
      ),
  })
  .describe('Modifies response headers: first `remove`, then `set`, then `add`.')

export type ResponseHeaders = z.output<typeof responseHeaders>
