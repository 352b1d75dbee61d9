import * as z from 'zod'
import { keepalives } from '../keepalives.ts'
import { duration } from '../scalars.ts'

export const tcp = z
  .strictObject({
    connectTimeout: duration().optional().describe('How long a connection may take to open.'),
    keepalives: keepalives().optional().describe('TCP keep-alive towards the backend.'),
  })
  .describe('TCP connections to the backend.')

export type Tcp = z.output<typeof tcp>
