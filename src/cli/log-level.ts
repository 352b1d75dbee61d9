import { LEVELS } from '../telemetry/log.ts'
import { callAdmin, DEFAULT_ADMIN } from './admin-client.ts'
import { defineCommand, UsageError } from './define.ts'
import { ADMIN, FORMAT, formatOf, readArgs } from './read-args.ts'

const AVAILABLE: readonly string[] = [...LEVELS, 'off']

export const logLevel = defineCommand({
  name: 'log-level',
  summary: 'show or set the log level of a running gateway',
  help: `portcullis log-level [LEVEL] [--admin URL] [--format text|json]

Uses the admin API, as the Admin UI does. Prints the log level; with LEVEL, sets it for this
gateway and its workers until it stops, which requires the role admin. The lines of the audit
trail are written at every level.

  LEVEL           ${AVAILABLE.slice(0, -1).join(', ')} or ${AVAILABLE.at(-1)}
  --admin URL     the admin API, a URL or host:port (default ${DEFAULT_ADMIN}); sends
                  the token in PORTCULLIS_ADMIN_TOKEN
  --format json   print what the API returns; short form: --json

Exit code: 0 if it was done, 1 if not, 2 for a usage error.`,
  run: async (args, { out, err, environment }) => {
    const { values, positionals } = parse(args)
    const [level, extra] = positionals
    if (extra !== undefined) throw new UsageError(`unexpected argument \`${extra}\``)
    if (level !== undefined && !AVAILABLE.includes(level)) {
      throw new UsageError(`unknown level \`${level}\`; available: ${AVAILABLE.join(', ')}`)
    }
    const isJson = formatOf(values, ['text', 'json']) === 'json'
    const { admin = DEFAULT_ADMIN } = values
    const path = '/api/logging'
    const body = JSON.stringify({ level })
    const call =
      level === undefined ? { path } : { method: 'PUT', path, body, type: 'application/json' }
    const reply = await callAdmin(admin, call, environment)
    if (typeof reply === 'string') {
      err(`portcullis log-level: ${reply}\n`)
      return 1
    }
    const said = JSON.parse(reply.text) as { readonly level: string }
    out(isJson ? reply.text : `${said.level}\n`)
    return 0
  },
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...ADMIN, ...FORMAT },
  })
}
