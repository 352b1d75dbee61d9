import * as z from 'zod'
import { duration, tlsVersion } from '../scalars.ts'

export const frontendTls = z
  .strictObject({
    handshakeTimeout: duration().prefault('15s').describe('The timeout of the TLS handshake.'),
    alpn: z
      .array(z.string().min(1).max(255))
      .max(16)
      .optional()
      .describe('ALPN protocols to offer. Default on HTTPS listeners: h2 and http/1.1.'),
    minVersion: tlsVersion().optional().describe('The minimum TLS version.'),
    maxVersion: tlsVersion().optional().describe('The maximum TLS version.'),
    cipherSuites: z.array(z.string().min(1)).max(64).optional().describe('Cipher suites to offer.'),
    keyExchangeGroups: z
      .array(z.string().min(1))
      .max(16)
      .optional()
      .describe('Key exchange groups to offer.'),
  })
  .describe('TLS settings of listeners that do not have their own.')

export type FrontendTls = z.output<typeof frontendTls>
