import * as z from 'zod'
import { trustedOrigin } from '../origins.ts'

export const csrf = z
  .strictObject({
    additionalOrigins: z
      .array(trustedOrigin())
      .max(64)
      .prefault([])
      .describe('Other sites whose pages can send such requests, such as https://app.example.com.'),
  })
  .describe('Rejects state-changing requests that browsers send on behalf of pages of other sites.')

export type Csrf = z.output<typeof csrf>
