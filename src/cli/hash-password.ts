import bcrypt from 'bcryptjs'
import { defineCommand, UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

const DEFAULT_COST = 10
const MIN_COST = 4
const MAX_COST = 15
/** bcrypt looks at no more. */
const MAX_BYTES = 72

export const hashPassword = defineCommand({
  name: 'hash-password',
  summary: 'print the line of a user and a password, for `basicAuth`',
  help: `portcullis hash-password NAME [--cost N]

Reads a password from the standard input and prints \`NAME:HASH\`, as \`basicAuth.users\` and
htpasswd files take it. A line feed at its end does not count.

  --cost N   how much work a guess is, ${MIN_COST} to ${MAX_COST}: each step doubles it (default ${DEFAULT_COST})

Exit code: 0, or 2 for a usage error.`,
  run: (args, { out, readInput }) => {
    const { name, cost } = parse(args)
    const password = readInput().replace(/\r?\n$/, '')
    if (password === '') throw new UsageError('there is no password on the standard input')
    if (Buffer.byteLength(password) > MAX_BYTES) {
      throw new UsageError(`the password is longer than ${MAX_BYTES} bytes: bcrypt reads no more`)
    }
    out(`${name}:${bcrypt.hashSync(password, cost)}\n`)
    return 0
  },
})

function parse(args: readonly string[]) {
  const { values, positionals } = readArgs({
    args: [...args],
    allowPositionals: true,
    options: { cost: { type: 'string' } },
  })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('name one user')
  if (!/^[^:\s]+$/.test(name)) throw new UsageError('a name has no colon and no space')
  const cost = Number(values.cost ?? DEFAULT_COST)
  if (!Number.isInteger(cost) || cost < MIN_COST || cost > MAX_COST) {
    throw new UsageError(`--cost takes a number from ${MIN_COST} to ${MAX_COST}`)
  }
  return { name, cost }
}
