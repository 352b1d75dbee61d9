import * as z from 'zod'
import { choice } from '../scalars.ts'

export const proxyProtocol = z
  .strictObject({
    mode: choice('Strict', 'Optional')
      .prefault('Strict')
      .describe('Strict: closes connections without the header.'),
    version: choice('V1', 'V2', 'All')
      .prefault('V2')
      .describe('The accepted versions of the header.'),
  })
  .describe("Reads the client's address from the PROXY header that a load balancer sends.")

export type ProxyProtocol = z.output<typeof proxyProtocol>
