import * as z from 'zod'
import { choice } from '../scalars.ts'

export const proxyProtocol = z
  .strictObject({
    mode: choice('Strict', 'Optional')
      .prefault('Strict')
      .describe('Strict: connections without the header are closed.'),
    version: choice('V1', 'V2', 'All').prefault('V2').describe('Which form of the header is read.'),
  })
  .describe("Reads the client's address from the PROXY header that a load balancer sends.")

export type ProxyProtocol = z.output<typeof proxyProtocol>
