import * as z from 'zod'
import type { SecretRef } from '../../model/secret.ts'
import { annotate, type CheckText } from '../annotations.ts'
import { type KeySet, keySet } from '../key-sets.ts'
import { toSecretRef } from '../materials.ts'
import { scalar, url } from '../scalars.ts'
import { issue } from '../shapes.ts'

export interface A2a {
  /** Without a trailing slash. */
  readonly publicUrl?: string
  readonly verify?: { readonly jwks: KeySet }
  readonly sign?: CardSigning
}

export interface CardSigning {
  /** A private key in PEM format. */
  readonly key: SecretRef
  readonly keyId: string
  /** The URL where clients find the public key. */
  readonly jwksUrl?: string
}

const publicUrl = scalar<string>({
  what: 'a URL',
  hint: 'use a URL such as `https://agents.example.com`, without a query string',
  maxLength: 2048,
  parse: (text) => {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    if (url.search !== '' || url.hash !== '' || url.username !== '') return undefined
    return url.href.replace(/\/+$/, '')
  },
})

const PRIVATE_KEY = /^\s*-----BEGIN (?:EC |RSA )?PRIVATE KEY-----/

const HINT = 'generate a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`'

const pem: CheckText = (text) =>
  PRIVATE_KEY.test(text)
    ? undefined
    : { message: 'the file is not an unencrypted PEM private key', hint: HINT }

const keyText = () =>
  annotate(z.string().min(1).max(16_384), { is: 'secret' }).check(({ value, issues }) => {
    if (PRIVATE_KEY.test(value)) return
    const message = 'this is not an unencrypted PEM private key'
    issues.push(issue('', message, { rule: 'malformed', hint: HINT }))
  })

const keyFile = () =>
  z.strictObject({
    file: annotate(z.string().min(1).max(4096).meta({ title: 'path' }), {
      is: 'path',
      check: pem,
    }).describe('The path of a file that contains the key.'),
  })

const verify = z.strictObject({
  jwks: keySet(),
})

const sign = z.strictObject({
  key: z
    .union([keyText(), keyFile()])
    .transform(toSecretRef)
    .describe('The private key in PEM format: a string or `{file}`. EC, RSA or Ed25519.'),
  keyId: z.string().min(1).max(256).describe('The key ID (`kid`) of the public key.'),
  jwksUrl: url()
    .optional()
    .describe('The `jku` of signatures: the URL of the key set that contains the public key.'),
})

export const a2a = z
  .strictObject({
    publicUrl: publicUrl
      .optional()
      .describe(
        'The scheme and host to put into agent cards, as clients reach the gateway. Defaults to those ' +
          'of the request.',
      ),
    verify: verify
      .optional()
      .describe(
        'Requires agent cards to be signed with one of these keys; other cards result in a 502. ' +
          'By default, signatures are not verified. In either case the gateway removes them, because it ' +
          'modifies the signed content.',
      ),
    sign: sign.optional().describe('Signs agent cards with a key of the gateway.'),
  })
  .transform((value): A2a => value as A2a)
  .describe(
    'Marks the backend as an A2A agent: rules can read its messages (`a2a.method`, …), and its cards ' +
      'point to the gateway.',
  )
