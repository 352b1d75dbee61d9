import * as z from 'zod'
import { sha256 } from '../../cel/library/hash-sha256.ts'
import { annotate } from '../annotations.ts'
import { credentialLocation } from '../credential-location.ts'
import { anything, choice, scalar } from '../scalars.ts'
import { issue, oneOfKeys } from '../shapes.ts'

const HINT =
  'replace it with `keyHash: sha256:` and the output of `printf %s KEY | sha256sum`, or read it ' +
  // biome-ignore lint/suspicious/noTemplateCurlyInString: literal configuration syntax
  'from the environment with `key: ${NAME}`'

const plainKey = () => annotate(z.string().min(1).max(4096), { is: 'credential', hint: HINT })

const key = () =>
  oneOfKeys(
    z.strictObject({
      key: plainKey()
        .optional()
        .describe(
          'The key in plain text, for example from an environment variable. Only its hash is kept.',
        ),
      keyHash: scalar<string>({
        what: 'the hash of a key',
        hint: 'use sha256: followed by 64 hexadecimal digits',
        pattern: /^sha256:[0-9a-fA-F]{64}$/,
        parse: (text) => text.toLowerCase(),
      })
        .optional()
        .describe('The SHA-256 hash of the key, as `portcullis hash-key` prints it.'),
      metadata: z
        .record(z.string(), anything)
        .prefault({})
        .describe('Metadata that is available to expressions as `apiKey`.'),
      expires: scalar<string>({
        what: 'a timestamp',
        hint: 'use the format 2030-01-31T00:00:00Z',
        pattern: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/,
        parse: (text) => (Number.isNaN(Date.parse(text)) ? undefined : text),
      })
        .optional()
        .describe('The time at which the key expires.'),
      allowedModels: z
        .array(z.string().min(1).max(256))
        .max(1024)
        .optional()
        .describe('The models that the key can use. Default: all.'),
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
        'Strict: requests without a valid key get 401. Optional: a key is not required, but an unknown one gets 401. Permissive: ' +
          'unknown keys are ignored.',
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
      .describe('The accepted keys.'),
  })
  .describe(
    'Authenticates clients by API key. The metadata of the key is available to expressions as `apiKey`.',
  )

export type ApiKey = z.output<typeof apiKey>

export const HASH_PREFIX = 'sha256:'
/** Hex digits of the digest that identify keys in logs. */
const SHOWN = 12

/**
 * `apiKey` in expressions: the metadata, and a prefix of the hash, which identifies the key without
 * revealing it.
 */
export function keyIdentity({ keyHash, metadata, allowedModels }: ApiKey['keys'][number]) {
  return {
    key: keyHash.slice(0, HASH_PREFIX.length + SHOWN),
    ...(allowedModels === undefined ? {} : { allowedModels }),
    ...metadata,
  }
}

/** In milliseconds since 1970. */
export function validUntil({ expires }: ApiKey['keys'][number]): number {
  return expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires)
}

/** Duplicate keys would make the owner and the expiry ambiguous. */
function repeated(keys: readonly unknown[], index: number) {
  const params = { rule: 'malformed', hint: 'remove one of them' } as const
  return issue(keys, 'duplicate key', params, [index])
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
