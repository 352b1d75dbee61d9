import * as z from 'zod'
import { fileOrSecret, fileOrText } from '../materials.ts'
import { aliased, issue } from '../shapes.ts'

export const backendTLS = aliased(
  {
    root: fileOrText()
      .optional()
      .describe("Certificates of the authorities to trust: a path or `{inline}`; the system's."),
    cert: fileOrText().optional().describe('The certificate to show to the backend. With `key`.'),
    key: fileOrSecret().optional().describe('The private key of `cert`.'),
    hostname: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe(
        'The server name to send and to verify in the certificate; by default, that of the backend.',
      ),
    subjectAltNames: z
      .array(z.string().min(1).max(2048))
      .max(16)
      .optional()
      .describe('Names of which one must be in the certificate, instead of `hostname`.'),
    insecure: z.boolean().prefault(false).describe('Accepts any certificate. Not for production.'),
    insecureHost: z.boolean().prefault(false).describe('Accepts any name in the certificate.'),
    alpn: z
      .array(z.string().min(1).max(255))
      .max(16)
      .optional()
      .describe('Protocols to offer; they follow from `http.version`.'),
    keyExchangeGroups: z.array(z.string().min(1)).max(16).optional().describe('Groups to offer.'),
  },
  { sni: 'hostname' },
)
  .check(({ value, issues }) => {
    const [present, missing] = value.cert === undefined ? ['key', 'cert'] : ['cert', 'key']
    if ((value.cert === undefined) === (value.key === undefined)) return
    const hint = 'a certificate and its private key go together'
    issues.push(
      issue(value, `\`${missing}\` is missing beside \`${present}\``, { rule: 'missing', hint }),
    )
  })
  .describe('Uses TLS to the backend.')

export type BackendTLS = z.output<typeof backendTLS>
