import { askDecisions, DEFAULT_ADMIN } from './admin-client.ts'
import { defineCommand, UsageError } from './define.ts'
import { findDecision } from './find-decision.ts'
import { followDecisions } from './follow-decisions.ts'
import { painter } from './paint.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'
import { renderDecision, renderDecisionLine } from './render-decision.ts'

export const why = defineCommand({
  name: 'why',
  summary: 'tell why a running gateway denied a request',
  help: `portcullis why [ID] [--admin URL] [--format text|json]
portcullis why --follow [--admin URL] [--format text|json]
portcullis why ID --decisions FILE... [--format text|json]

Gets a decision from a running gateway by its ID, which the client got as
x-request-id, and tells which rule decided and why. Without ID it lists the latest
denials.

  --admin URL        the admin API, as a URL or as host:port (default ${DEFAULT_ADMIN})
  --decisions FILE   the file of decisions to look in instead; repeat it for more
  --policy NAME      of the list: decisions of this policy alone
  --verdict VERDICT  of the list: denied (default), skipped (of providers),
                     would-deny, allowed or any
  --since TIME       of the list: not before this time, as 2026-02-03T04:05:06Z
  --limit N          of the list: at most so many (default 20)
  --follow           of the list: go on with each decision that is made; as JSON, one a line
  --format json      the records themselves; --json for short

Exit code: 0, or 1 if there is no decision with this ID, or if the gateway cannot be
reached; a list may be empty. 2 for a usage error.`,
  run: async (args, terminal) => {
    const { out, err, colour } = terminal
    const { values, positionals } = parse(args)
    const [id, ...more] = positionals
    if (more.length > 0) throw new UsageError('name one id')
    const { admin = DEFAULT_ADMIN } = values
    const json = formatOf(values, ['text', 'json']) === 'json'
    if (values.follow === true) {
      if (id !== undefined || values.decisions !== undefined) {
        throw new UsageError('--follow lists what a running gateway decides')
      }
      return followDecisions({ admin, query: filters(values), json }, terminal)
    }
    if (id === undefined && values.decisions !== undefined) throw new UsageError('name the id')
    const found =
      id === undefined
        ? await askDecisions(admin, `/api/decisions?${filters(values)}`, terminal.environment)
        : await findDecision(id, admin, values.decisions, terminal.environment)
    if (typeof found === 'string') {
      err(`portcullis why: ${found}\n`)
      return 1
    }
    const paint = painter(colour)
    if (json) out(`${JSON.stringify({ decisions: found }, undefined, 2)}\n`)
    else if (found.length === 0) out('No matching decisions.\n')
    else if (id === undefined)
      out(found.map((one) => `${renderDecisionLine(one, paint)}\n`).join(''))
    else out(found.map((one) => renderDecision(one, paint)).join('\n'))
    return id !== undefined && found.length === 0 ? 1 : 0
  },
})

function filters(values: ReturnType<typeof parse>['values']): URLSearchParams {
  const { policy, verdict = 'denied', since, limit = '20' } = values
  const query = new URLSearchParams({ limit })
  if (verdict !== 'any') query.set('verdict', verdict)
  if (policy !== undefined) query.set('policy', policy)
  if (since !== undefined) query.set('since', since)
  return query
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      admin: { type: 'string' },
      decisions: { type: 'string', multiple: true },
      policy: { type: 'string' },
      verdict: { type: 'string' },
      since: { type: 'string' },
      limit: { type: 'string' },
      follow: { type: 'boolean' },
      ...FORMAT,
    },
  })
}
