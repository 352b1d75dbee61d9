import bcrypt from 'bcryptjs'
import { defineCommand, UsageError } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

const DEFAULT_COST = 10
const MIN_COST = 4
const MAX_COST = 15
/** bcrypt ignores further bytes. */
const MAX_BYTES = 72

export const hashPassword = defineCommand({
  name: 'hash-password',
  summary: 'print the htpasswd line of a user for `basicAuth`',
  help: `portcullis hash-password NAME [--cost N] [--format text|json]

Reads a password from standard input and prints \`NAME:HASH\` for \`basicAuth.users\` and
htpasswd files. A trailing newline is ignored.

  --cost N        bcrypt cost, ${MIN_COST} to ${MAX_COST}; each step doubles the work (default ${DEFAULT_COST})
  --format json   JSON output; short form: --json

Exit code: 0, or 2 for a usage error.`,
  run: (args, { out, readInput }) => {
    const { name, cost, isJson } = parse(args)
    const password = readInput().replace(/\r?\n$/, '')
    if (password === '') throw new UsageError('standard input is empty: expected a password')
    if (Buffer.byteLength(password) > MAX_BYTES) {
      throw new UsageError(`the password is longer than ${MAX_BYTES} bytes, the maximum for bcrypt`)
    }
    const hash = bcrypt.hashSync(password, cost)
    out(isJson ? `${JSON.stringify({ name, hash }, undefined, 2)}\n` : `${name}:${hash}\n`)
    return 0
  },
})

function parse(args: readonly string[]) {
  const { values, positionals } = readArgs({
    args: [...args],
    allowPositionals: true,
    options: { cost: { type: 'string' }, ...FORMAT },
  })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('specify exactly one user')
  if (!/^[^:\s]+$/.test(name)) throw new UsageError('a user name must not contain colons or spaces')
  const cost = Number(values.cost ?? DEFAULT_COST)
  if (!Number.isInteger(cost) || cost < MIN_COST || cost > MAX_COST) {
    throw new UsageError(`--cost must be a number from ${MIN_COST} to ${MAX_COST}`)
  }
  return { name, cost, isJson: formatOf(values, ['text', 'json']) === 'json' }
}
