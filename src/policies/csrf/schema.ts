import * as z from 'zod'
import { trustedOrigin } from '../origins.ts'

export const csrf = z
  .strictObject({
    additionalOrigins: z
      .array(trustedOrigin())
      .max(64)
      .prefault([])
      .describe('Other sites whose pages may send such requests, such as https://app.example.com.'),
  })
  .describe(
    'Rejects requests that change something if a page of another site has a browser send them.',
  )

export type Csrf = z.output<typeof csrf>
