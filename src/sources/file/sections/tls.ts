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
  cert: fileOrText().describe('The certificate chain: a path or `{inline}`.'),
  key: fileOrSecret().describe('The private key: a path or `{inline}`.'),
})

const list = () => z.array(z.string().min(1).max(255)).min(1).max(64).optional()

/** The schema of `tls` of a listener. Without a certificate, TLS is passed through. */
export const listenerTls = aliased(
  {
    mode: choice('Terminate', 'Passthrough', 'Static')
      .optional()
      .describe(
        'Passthrough forwards TLS to the backend unchanged. It is the default if there are no certificates.',
      ),
    cert: certificate.shape.cert.optional(),
    key: certificate.shape.key.optional(),
    certificates: z
      .array(certificate)
      .min(1)
      .max(64)
      .optional()
      .describe('Several certificates, selected by server name (SNI).'),
    root: fileOrText()
      .optional()
      .describe('CA certificates for verifying client certificates. Enables mutual TLS.'),
    clientCertificates: choice('Require', 'Optional')
      .prefault('Require')
      .describe('Whether clients must present a certificate. Requires `root`.'),
    minVersion: tlsVersion().optional().describe('The minimum TLS version.'),
    maxVersion: tlsVersion().optional().describe('The maximum TLS version.'),
    cipherSuites: list().describe('Cipher suites in order of preference.'),
    keyExchangeGroups: list().describe('Key exchange groups in order of preference.'),
    alpn: list().describe('ALPN protocols to offer. Default on HTTPS listeners: h2 and http/1.1.'),
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
    const reject = (rule: 'missing' | 'excludes', message: string, hint: string) =>
      issues.push(issue(value, message, { rule, hint }))
    if (cert === undefined && key !== undefined) {
      reject(
        'missing',
        '`key` is set, but `cert` is missing',
        'set both the certificate and its key',
      )
    }
    if (cert !== undefined && key === undefined) {
      reject(
        'missing',
        '`cert` is set, but `key` is missing',
        'set both the certificate and its key',
      )
    }
    const hasAny = cert !== undefined || certificates !== undefined
    if (mode === 'Passthrough' && hasAny) {
      const hint = 'remove the certificate, or set `mode` to Terminate'
      reject('excludes', 'certificates are not allowed with mode Passthrough', hint)
    }
    if ((mode === 'Terminate' || mode === 'Static') && !hasAny) {
      reject('missing', 'a certificate is missing', 'set `cert` and `key`, or `certificates`')
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
