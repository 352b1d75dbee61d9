import { createHash, randomBytes } from 'node:crypto'
import { defineCommand, UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

/** Fewer bytes can be guessed. */
const KEY_BYTES = 32

export const hashKey = defineCommand({
  name: 'hash-key',
  summary: 'print the digest of an API key, for `keyHash`',
  help: `portcullis hash-key [--json]
portcullis hash-key --generate [--json]

Reads an API key from the standard input and prints its digest, as \`apiKey.keys[].keyHash\`
accepts it: anyone who reads the configuration cannot use the key. A line feed at its end
is ignored.

  --generate   make a new random key, and print it before its digest
  --json       for programs

Exit code: 0, or 2 for a usage error.`,
  run: (args, { out, readInput }) => {
    const { generate = false, json = false } = parse(args)
    const key = generate
      ? randomBytes(KEY_BYTES).toString('base64url')
      : readInput().replace(/\r?\n$/, '')
    if (key === '') throw new UsageError('there is no key on the standard input')
    const keyHash = `sha256:${createHash('sha256').update(key).digest('hex')}`
    if (json) out(`${JSON.stringify(generate ? { key, keyHash } : { keyHash }, undefined, 2)}\n`)
    else out(generate ? `key: ${key}\nkeyHash: ${keyHash}\n` : `${keyHash}\n`)
    return 0
  },
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    options: { generate: { type: 'boolean' }, json: { type: 'boolean' } },
  }).values
}
