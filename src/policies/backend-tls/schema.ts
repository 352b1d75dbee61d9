import * as z from 'zod'
import { fileOrSecret, fileOrText } from '../materials.ts'
import { aliased, issue } from '../shapes.ts'

export const backendTLS = aliased(
  {
    root: fileOrText()
      .optional()
      .describe("CA certificates to trust: a path or `{inline}`. Default: the system's."),
    cert: fileOrText().optional().describe('The client certificate. Requires `key`.'),
    key: fileOrSecret().optional().describe('The private key of `cert`.'),
    hostname: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe(
        'The server name to send (SNI) and to verify in the certificate. Defaults to the hostname of the backend.',
      ),
    subjectAltNames: z
      .array(z.string().min(1).max(2048))
      .max(16)
      .optional()
      .describe('Names of which one must be in the certificate, instead of `hostname`.'),
    insecure: z.boolean().prefault(false).describe('Accept any certificate. Not for production.'),
    insecureHost: z.boolean().prefault(false).describe('Accept any name in the certificate.'),
    alpn: z
      .array(z.string().min(1).max(255))
      .max(16)
      .optional()
      .describe('ALPN protocols to offer. Default: derived from `http.version`.'),
    keyExchangeGroups: z
      .array(z.string().min(1))
      .max(16)
      .optional()
      .describe('Key exchange groups to offer.'),
  },
  { sni: 'hostname' },
)
  .check(({ value, issues }) => {
    const [present, missing] = value.cert === undefined ? ['key', 'cert'] : ['cert', 'key']
    if ((value.cert === undefined) === (value.key === undefined)) return
    const hint = 'set both the certificate and its key'
    issues.push(
      issue(value, `\`${present}\` is set, but \`${missing}\` is missing`, {
        rule: 'missing',
        hint,
      }),
    )
  })
  .describe('Uses TLS for connections to the backend.')

export type BackendTLS = z.output<typeof backendTLS>
