import * as z from 'zod'
import { sha256 } from '../../cel/library/hash-sha256.ts'
import { annotate } from '../annotations.ts'
import { credentialLocation } from '../credential-location.ts'
import { anything, choice, scalar } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'

const HINT =
  'write `keyHash: sha256:` and what `printf %s KEY | sha256sum` prints in its place, or take it ' +
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what a file says
  'from the environment with `key: ${NAME}`'

const plainKey = () => annotate(z.string().min(1).max(4096), { is: 'credential', hint: HINT })

const key = () =>
  oneOfKeys(
    z.strictObject({
      key: plainKey()
        .optional()
        .describe('The key itself, from the environment for one; only its digest is kept.'),
      keyHash: scalar<string>({
        what: 'the digest of a key',
        hint: 'write sha256: and 64 hexadecimal digits',
        pattern: /^sha256:[0-9a-fA-F]{64}$/,
        parse: (text) => text.toLowerCase(),
      })
        .optional()
        .describe('The SHA-256 digest of the key.'),
      metadata: z
        .record(z.string(), anything)
        .prefault({})
        .describe('What expressions see as `apiKey`.'),
      expires: scalar<string>({
        what: 'a time',
        hint: 'write it as 2030-01-31T00:00:00Z',
        pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/,
        parse: (text) => (Number.isNaN(Date.parse(text)) ? undefined : text),
      })
        .optional()
        .describe('From this time on the key is rejected.'),
      allowedModels: z
        .array(z.string().min(1).max(256))
        .max(1024)
        .optional()
        .describe('The models that the key may ask for; absent: all.'),
    }),
    ['key', 'keyHash'],
  ).transform(({ key, keyHash, ...rest }) => ({
    keyHash: keyHash ?? `sha256:${hex(sha256(new TextEncoder().encode(key)))}`,
    ...rest,
  }))

export const apiKey = z
  .strictObject({
    mode: choice('Strict', 'Optional', 'Permissive')
      .prefault('Strict')
      .describe(
        'Strict: a known key or 401. Optional: none is fine, an unknown one is 401. Permissive: ' +
          'an unknown one is ignored.',
      ),
    location: credentialLocation('Bearer '),
    keys: z
      .array(key())
      .min(1)
      .max(100_000)
      .check(({ value, issues }) => {
        const known = new Set<string>()
        for (const [index, { keyHash }] of value.entries()) {
          if (known.has(keyHash)) issues.push(repeated(value, index))
          known.add(keyHash)
        }
      })
      .describe('The keys that are known.'),
  })
  .describe('Accepts API keys; the metadata of the key is `apiKey` in expressions.')

export type ApiKey = z.output<typeof apiKey>

/** Whose it is, and until when, could be read in two ways. */
function repeated(keys: readonly unknown[], index: number) {
  const params = { rule: 'malformed', hint: 'keep one of the two' } as const
  return issue(keys, 'the same key is listed before', params, [index])
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
