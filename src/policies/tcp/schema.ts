import * as z from 'zod'
import { keepalives } from '../keepalives.ts'
import { duration } from '../scalars.ts'

export const tcp = z
  .strictObject({
    connectTimeout: duration().optional().describe('The timeout for establishing a connection.'),
    keepalives: keepalives().optional().describe('TCP keep-alive for backend connections.'),
  })
  .describe('Settings of TCP connections to the backend.')

export type Tcp = z.output<typeof tcp>
