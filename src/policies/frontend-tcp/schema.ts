import * as z from 'zod'
import { keepalives } from '../keepalives.ts'

export const frontendTcp = z
  .strictObject({ keepalives: keepalives().describe('TCP keep-alive towards clients.') })
  .describe('TCP connections of clients.')

export type FrontendTcp = z.output<typeof frontendTcp>
