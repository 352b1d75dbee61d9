import { stringify } from 'yaml'
import { callAdmin, DEFAULT_ADMIN } from './admin-client.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'
import { readText } from './read-text.ts'

export const config = defineCommand({
  name: 'config',
  summary: 'show and change the configuration of a running gateway',
  help: `portcullis config get [KIND/ID] [--admin URL]
portcullis config edits [--admin URL]
portcullis config fields KIND/ID [FIELD] [--admin URL] [--format text|json]
portcullis config history [KIND/ID] [--admin URL] [--format text|json]
portcullis config apply FILE [--comment TEXT] [--admin URL]
portcullis config delete KIND/ID [--comment TEXT] [--admin URL]
portcullis config revert KIND/ID [--comment TEXT] [--admin URL]
portcullis config rollback REVISION [--comment TEXT] [--admin URL]

Uses the admin API, as the Admin UI does. A resource is KIND/ID, for example routes/orders.
Changes need \`config.storage.mode: database\`; they are stored only if the configuration is
valid with them.

  get        print the running configuration or one resource as YAML, without secrets
  edits      print the stored resources as YAML, which apply accepts
  fields     print the source of each field: a line of the file, or a revision and its
             author; FIELD is a JSON pointer, for example /policies/timeout
  history    list the changes, newest first
  apply      store each resource of FILE (- for standard input) that differs
  delete     delete a resource, even one from the file
  revert     remove the edits of a resource, so that it is as in the file
  rollback   restore what was stored at a revision; 0 removes all edits

  --admin URL     the admin API, a URL or host:port (default ${DEFAULT_ADMIN}); sends
                  the token in PORTCULLIS_ADMIN_TOKEN
  --comment TEXT  a comment for the history
  --format json   print what the API returns; short form: --json

Exit code: 0 if it was done, 1 if not, 2 for a usage error.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    const [name = '', ...rest] = positionals
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (action === undefined) {
      throw new UsageError(`specify one of ${Object.keys(ACTIONS).join(', ')}`)
    }
    const isJson = formatOf(values, ['text', 'json']) === 'json'
    const { admin = DEFAULT_ADMIN, comment = '' } = values
    const call: Call = (one) => callAdmin(admin, one, terminal.environment, TIMEOUT_MS)
    const said = await action(rest, { call, comment, isJson, terminal })
    if ('problem' in said) terminal.err(`portcullis config: ${said.problem}\n`)
    else terminal.out(said.out)
    return 'problem' in said ? 1 : 0
  },
})

/** Milliseconds; a change of a large configuration is validated first. */
const TIMEOUT_MS = 150_000

type Call = (one: Parameters<typeof callAdmin>[1]) => ReturnType<typeof callAdmin>

interface Given {
  readonly call: Call
  readonly comment: string
  readonly isJson: boolean
  readonly terminal: Terminal
}

type Said = { readonly out: string } | { readonly problem: string }
type Action = (args: readonly string[], given: Given) => Promise<Said>

const ACTIONS: Readonly<Record<string, Action>> = {
  get: (args, given) => {
    const [resource] = between(args, 0, 1)
    if (resource === undefined) return print(given, '/api/config/effective?format=yaml')
    return print(given, pathOf(resource), (said) => [
      stringify((said as { readonly value: unknown }).value).trimEnd(),
    ])
  },
  edits: (args, given) => {
    between(args, 0, 0)
    return print(given, '/api/config/edits?format=yaml')
  },
  fields: (args, given) => {
    const [resource = '', field = ''] = between(args, 1, 2)
    const query = `?field=${encodeURIComponent(field)}`
    return print(given, `${pathOf(resource)}/fields${query}`, (said) =>
      (said as { readonly fields: readonly Field[] }).fields.map(fieldLine),
    )
  },
  history: (args, given) => {
    const [resource] = between(args, 0, 1)
    const [kind = '', id = ''] = resource === undefined ? [] : keyOf(resource)
    const own = resource === undefined ? {} : { kind, id }
    const query = new URLSearchParams({ limit: '100', ...own })
    return print(given, `/api/config/history?${query}`, (said) => {
      const { entries } = said as { readonly entries: readonly Entry[] }
      return entries.length === 0 ? ['No changes are stored.'] : entries.map(entryLine)
    })
  },
  apply: async (args, given) => {
    const [file = ''] = between(args, 1, 1)
    const body = file === '-' ? given.terminal.readInput() : readText(file)
    const path = `/api/config/import${commentQuery('?', given)}`
    const said = await change(given, { method: 'POST', path, body, type: 'application/yaml' })
    return 'problem' in said ? { problem: `${file}: ${said.problem}` } : said
  },
  delete: (args, given) => remove(args, given, 'nothing'),
  revert: (args, given) => remove(args, given, 'baseline'),
  rollback: (args, given) => {
    const [text = ''] = between(args, 1, 1)
    if (!/^\d+$/.test(text)) throw new UsageError(`\`${text}\` is not a revision`)
    const body = JSON.stringify({ revision: Number(text), comment: given.comment })
    const path = '/api/config/rollback'
    return change(given, { method: 'POST', path, body, type: 'application/json' })
  },
}

function between(args: readonly string[], min: number, max: number): readonly string[] {
  const extra = args[max]
  if (extra !== undefined) throw new UsageError(`unexpected argument \`${extra}\``)
  if (args.length < min) throw new UsageError('an argument is missing')
  return args
}

function keyOf(resource: string): readonly [string, string] {
  const at = resource.indexOf('/')
  if (at < 1 || at === resource.length - 1) {
    throw new UsageError(`\`${resource}\` is not KIND/ID, such as routes/orders`)
  }
  return [resource.slice(0, at), resource.slice(at + 1)]
}

function pathOf(resource: string): string {
  const [kind, id] = keyOf(resource).map(encodeURIComponent)
  return `/api/config/resources/${kind}/${id}`
}

function commentQuery(mark: '?' | '&', { comment }: Given): string {
  return comment === '' ? '' : `${mark}comment=${encodeURIComponent(comment)}`
}

async function print(
  { call, isJson }: Given,
  path: string,
  linesOf?: (said: unknown) => readonly string[],
): Promise<Said> {
  const reply = await call({ path: isJson ? path.replace('format=yaml', 'format=json') : path })
  if (typeof reply === 'string') return { problem: reply }
  if (isJson || linesOf === undefined) return { out: reply.text }
  return { out: linesOf(JSON.parse(reply.text)).join('\n').concat('\n') }
}

async function remove(
  args: readonly string[],
  given: Given,
  to: 'nothing' | 'baseline',
): Promise<Said> {
  const [resource = ''] = between(args, 1, 1)
  const path = pathOf(resource)
  // Requires the current version, so that a concurrent change is not overwritten.
  const now = await given.call({ path })
  if (typeof now === 'string') return { problem: now }
  const { isHidden } = JSON.parse(now.text) as { readonly isHidden: boolean }
  return change(given, {
    method: 'DELETE',
    path: `${path}?to=${to}${commentQuery('&', given)}`,
    ...(now.etag === null || isHidden ? {} : { ifMatch: now.etag }),
  })
}

async function change({ call, isJson }: Given, one: Parameters<Call>[0]): Promise<Said> {
  const reply = await call(one)
  if (typeof reply === 'string') return { problem: reply }
  if (isJson) return { out: reply.text }
  const { revision, stored } = JSON.parse(reply.text) as { revision: number; stored?: number }
  if (stored === 0) return { out: 'Nothing differs: nothing was stored.\n' }
  return { out: `Stored as revision ${revision}.\n` }
}

interface Field {
  readonly field: string
  readonly from: string
  readonly revision: number | null
  readonly author: string | null
  readonly line: number | null
  readonly isRemoved: boolean
  readonly isDrifted: boolean
}

function fieldLine({ field, from, revision, author, line, isRemoved, isDrifted }: Field): string {
  const inFile = line === null ? '' : `line ${line} of the file`
  const words =
    from === 'baseline'
      ? [inFile || 'the file']
      : [`revision ${revision} by ${author}`, ...(inFile === '' ? [] : [`instead of ${inFile}`])]
  const more = [...(isRemoved ? ['removed'] : []), ...(isDrifted ? ['the file changed since'] : [])]
  return `${field === '' ? '(all fields)' : field}: ${[...words, ...more].join(', ')}`
}

interface Entry {
  readonly revision: number
  readonly kind: string
  readonly id: string
  readonly action: string
  readonly author: string
  readonly comment: string
  readonly time: string
}

function entryLine({ revision, time, author, action, kind, id, comment }: Entry): string {
  const more = comment === '' ? '' : `: ${comment}`
  return `${revision}  ${time}  ${author}  ${action}  ${kind}/${id}${more}`
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { admin: { type: 'string' }, comment: { type: 'string' }, ...FORMAT },
  })
}
