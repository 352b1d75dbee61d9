import { createHash, randomBytes } from 'node:crypto'
import { defineCommand, UsageError } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

/** Shorter keys can be guessed. */
const KEY_BYTES = 32

export const hashKey = defineCommand({
  name: 'hash-key',
  summary: 'print the hash of an API key for `keyHash`',
  help: `portcullis hash-key [--generate] [--format text|json]

Reads an API key from standard input and prints its hash for \`apiKey.keys[].keyHash\`, so
that the configuration does not reveal the key. A trailing newline is ignored.

  --generate      generate a random key and print it before its hash
  --format json   JSON output; short form: --json

Exit code: 0, or 2 for a usage error.`,
  run: (args, { out, readInput }) => {
    const values = parse(args)
    const { generate = false } = values
    const json = formatOf(values, ['text', 'json']) === 'json'
    const key = generate
      ? randomBytes(KEY_BYTES).toString('base64url')
      : readInput().replace(/\r?\n$/, '')
    if (key === '') throw new UsageError('standard input is empty: expected an API key')
    const keyHash = `sha256:${createHash('sha256').update(key).digest('hex')}`
    if (json) out(`${JSON.stringify(generate ? { key, keyHash } : { keyHash }, undefined, 2)}\n`)
    else out(generate ? `key: ${key}\nkeyHash: ${keyHash}\n` : `${keyHash}\n`)
    return 0
  },
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    options: { generate: { type: 'boolean' }, ...FORMAT },
  }).values
}
