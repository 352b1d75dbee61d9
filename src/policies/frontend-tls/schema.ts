import * as z from 'zod'
import { duration, tlsVersion } from '../scalars.ts'

export const frontendTls = z
  .strictObject({
    handshakeTimeout: duration().prefault('15s').describe('How long a handshake may take.'),
    alpn: z
      .array(z.string().min(1).max(255))
      .max(16)
      .optional()
      .describe('Protocols to offer; h2 and http/1.1 on HTTPS listeners.'),
    minVersion: tlsVersion().optional().describe('The oldest version.'),
    maxVersion: tlsVersion().optional().describe('The newest version.'),
    cipherSuites: z.array(z.string().min(1)).max(64).optional().describe('Suites to offer.'),
    keyExchangeGroups: z.array(z.string().min(1)).max(16).optional().describe('Groups to offer.'),
  })
  .describe('TLS of all listeners that have no settings of their own.')

export type FrontendTls = z.output<typeof frontendTls>
