import * as z from 'zod'
import { keepalives } from '../keepalives.ts'

export const frontendTcp = z
  .strictObject({ keepalives: keepalives().describe('TCP keep-alive for client connections.') })
  .describe('Settings of client TCP connections.')

export type FrontendTcp = z.output<typeof frontendTcp>
