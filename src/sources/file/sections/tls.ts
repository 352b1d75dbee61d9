import * as z from 'zod'
import type { PassedTls, TerminatedTls } from '../../../model/gateway.ts'
import {
  aliased,
  choice,
  fileOrSecret,
  fileOrText,
  issue,
  tlsVersion,
} from '../../../policies/schema.ts'
import { omitUndefined } from '../omit-undefined.ts'

const certificate = z.strictObject({
  cert: fileOrText().describe('The certificate with its chain: a path or `{inline}`.'),
  key: fileOrSecret().describe('Its private key: a path or `{inline}`.'),
})

const list = () => z.array(z.string().min(1).max(255)).min(1).max(64).optional()

/** `tls:` of a listener. Without a certificate it is passed through. */
export const listenerTls = aliased(
  {
    mode: choice('Terminate', 'Passthrough', 'Static')
      .optional()
      .describe('Passthrough leaves TLS to the backend; it is the default without certificates.'),
    cert: certificate.shape.cert.optional(),
    key: certificate.shape.key.optional(),
    certificates: z
      .array(certificate)
      .min(1)
      .max(64)
      .optional()
      .describe('Several certificates; the server name picks one.'),
    root: fileOrText()
      .optional()
      .describe('Authorities whose client certificates are accepted: turns on mutual TLS.'),
    clientCertificates: choice('Require', 'Optional')
      .prefault('Require')
      .describe('Whether clients must show one. With `root`.'),
    minVersion: tlsVersion().optional().describe('The oldest version.'),
    maxVersion: tlsVersion().optional().describe('The newest version.'),
    cipherSuites: list().describe('Suites to offer, the preferred first.'),
    keyExchangeGroups: list().describe('Groups to offer, the preferred first.'),
    alpn: list().describe('Protocols to offer; h2 and http/1.1 on HTTPS listeners.'),
  },
  {
    minTLSVersion: 'minVersion',
    minTlsVersion: 'minVersion',
    maxTLSVersion: 'maxVersion',
    maxTlsVersion: 'maxVersion',
  },
)
  .check(({ value, issues }) => {
    const { mode, cert, key, certificates } = value
    const refuse = (rule: 'missing' | 'excludes', message: string, hint: string) =>
      issues.push(issue(value, message, { rule, hint }))
    if (cert === undefined && key !== undefined) {
      refuse('missing', '`cert` is missing beside `key`', 'a certificate and its key go together')
    }
    if (cert !== undefined && key === undefined) {
      refuse('missing', '`key` is missing beside `cert`', 'a certificate and its key go together')
    }
    const hasAny = cert !== undefined || certificates !== undefined
    if (mode === 'Passthrough' && hasAny) {
      const hint = 'remove the certificate, or set `mode` to Terminate'
      refuse('excludes', 'Passthrough needs no certificate', hint)
    }
    if ((mode === 'Terminate' || mode === 'Static') && !hasAny) {
      refuse('missing', 'a certificate is missing', 'set `cert` and `key`, or `certificates`')
    }
  })
  .transform((value): TerminatedTls | PassedTls => {
    const { cert, key, certificates, root, clientCertificates } = value
    const own = cert === undefined || key === undefined ? [] : [{ cert, key }]
    const all = [...own, ...(certificates ?? [])]
    if (all.length === 0) return { mode: 'Passthrough' }
    return omitUndefined({
      mode: 'Terminate',
      certificates: all,
      clients: root === undefined ? undefined : { ca: root, mode: clientCertificates },
      minVersion: value.minVersion,
      maxVersion: value.maxVersion,
      cipherSuites: value.cipherSuites,
      keyExchangeGroups: value.keyExchangeGroups,
      alpn: value.alpn,
    }) as TerminatedTls
  })
  .meta({ id: 'listener-tls' })
