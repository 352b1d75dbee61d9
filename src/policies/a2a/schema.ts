import * as z from 'zod'
import type { SecretRef } from '../../model/secret.ts'
import { annotate, type CheckText } from '../annotations.ts'
import { type KeySet, keySet } from '../key-sets.ts'
import { toSecretRef } from '../materials.ts'
import { scalar, url } from '../scalars.ts'
import { issue } from '../shapes.ts'

export interface A2a {
  /** Without a slash at its end. */
  readonly publicUrl?: string
  readonly verify?: { readonly jwks: KeySet }
  readonly sign?: CardSigning
}

export interface CardSigning {
  /** A private key in PEM. */
  readonly key: SecretRef
  readonly keyId: string
  /** Where clients find the public key. */
  readonly jwksUrl?: string
}

const publicUrl = scalar<string>({
  what: 'a URL',
  hint: 'write `https://agents.example.com`, without a query',
  maxLength: 2048,
  parse: (text) => {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    if (url.search !== '' || url.hash !== '' || url.username !== '') return undefined
    return url.href.replace(/\/+$/, '')
  },
})

const PRIVATE_KEY = /^\s*-----BEGIN (?:EC |RSA )?PRIVATE KEY-----/

const HINT = 'write it with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`'

const pem: CheckText = (text) =>
  PRIVATE_KEY.test(text)
    ? undefined
    : { message: 'the file is not a private key in PEM without a passphrase', hint: HINT }

const keyText = () =>
  annotate(z.string().min(1).max(16_384), { is: 'secret' }).check(({ value, issues }) => {
    if (PRIVATE_KEY.test(value)) return
    const message = 'this is not a private key in PEM without a passphrase'
    issues.push(issue('', message, { rule: 'malformed', hint: HINT }))
  })

const keyFile = () =>
  z.strictObject({
    file: annotate(z.string().min(1).max(4096).meta({ title: 'path' }), {
      is: 'path',
      check: pem,
    }).describe('The path of a file with the key.'),
  })

const verify = z.strictObject({
  jwks: keySet(),
})

const sign = z.strictObject({
  key: z
    .union([keyText(), keyFile()])
    .transform(toSecretRef)
    .describe('The private key in PEM: its text, or `{file}`. EC, RSA or Ed25519.'),
  keyId: z.string().min(1).max(256).describe('The `kid` by which clients find the public key.'),
  jwksUrl: url()
    .optional()
    .describe('The `jku` of signatures: where clients find the key set with the public key.'),
})

export const a2a = z
  .strictObject({
    publicUrl: publicUrl
      .optional()
      .describe(
        'The scheme and host that agent cards name, as clients reach the gateway; by default those ' +
          'of the request.',
      ),
    verify: verify
      .optional()
      .describe(
        'Requires a signature by one of these keys on the cards of the agent; a card without one ' +
          'is a 502. By default signatures are not verified. They are removed in either case, since ' +
          'the gateway changes what they sign.',
      ),
    sign: sign.optional().describe('The key with which the gateway signs cards.'),
  })
  .transform((value): A2a => value as A2a)
  .describe(
    'The backend is an A2A agent: its messages are read for rules (`a2a.method`, …), and its cards ' +
      'name the address of the gateway.',
  )
