import * as z from 'zod'
import { target } from '../target.ts'

const mirror = z.strictObject({
  backend: target().describe('The backend that receives the copies.'),
  percentage: z
    .number()
    .min(0)
    .max(1)
    .prefault(1)
    .describe('The share of requests to mirror: 0.1 is every tenth request.'),
})

export const requestMirror = z
  .union([mirror, z.array(mirror).min(1).max(16)])
  .transform((value) => (Array.isArray(value) ? value : [value]))
  .describe(
    'Sends copies of requests, including bodies, to another backend. Its responses are discarded.',
  )

export type RequestMirror = z.output<typeof requestMirror>
