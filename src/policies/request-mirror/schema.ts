import * as z from 'zod'
import { target } from '../target.ts'

const mirror = z.strictObject({
  backend: target().describe('Who gets the copy.'),
  percentage: z
    .number()
    .min(0)
    .max(1)
    .prefault(1)
    .describe('The share of requests that are copied: 0.1 is every tenth.'),
})

export const requestMirror = z
  .union([mirror, z.array(mirror).min(1).max(16)])
  .transform((value) => (Array.isArray(value) ? value : [value]))
  .describe(
    'Sends copies of requests, bodies included, to another backend; the responses are dropped.',
  )

export type RequestMirror = z.output<typeof requestMirror>
