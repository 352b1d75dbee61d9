import { DECISION_VERDICTS } from '../telemetry/decision-ring.ts'
import { DEFAULT_ADMIN, fetchDecisions } from './admin-client.ts'
import { defineCommand, UsageError } from './define.ts'
import { findDecision } from './find-decision.ts'
import { followDecisions } from './follow-decisions.ts'
import { painter } from './paint.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'
import { renderDecision, renderDecisionLine } from './render-decision.ts'

export const why = defineCommand({
  name: 'why',
  summary: 'explain why a running gateway denied a request',
  help: `portcullis why [ID] [--admin URL] [--format text|json]
portcullis why --follow [--admin URL] [--format text|json]
portcullis why ID --decisions FILE... [--format text|json]

Gets a decision from a running gateway by its ID, which clients receive in the header
x-request-id, and shows what decided and why. Without ID, lists the latest denials and
rejections.

  --admin URL        the admin API, a URL or host:port (default ${DEFAULT_ADMIN})
  --decisions FILE   look up the decision in this file instead; can be repeated
  --policy NAME      list only decisions of this policy
  --verdict VERDICT  list decisions with these verdicts, separated by commas: denied and
                     rejected (both by default), skipped (AI providers, items of lists),
                     would-deny, allowed or any
  --text TEXT        list decisions that contain this text: a path, a client, a rule, a reason
  --since TIME       list decisions since this time, for example 2026-02-03T04:05:06Z
  --limit N          list at most N decisions (default 20)
  --follow           keep listing decisions as they are made; as JSON, one per line
  --format json      print the records as JSON; short form: --json

Exit code: 0; 1 if there is no decision with this ID or the gateway cannot be reached (an
empty list is not an error); 2 for a usage error.`,
  run: async (args, terminal) => {
    const { out, err, colour } = terminal
    const { values, positionals } = parse(args)
    const [id, ...more] = positionals
    if (more.length > 0) throw new UsageError('specify only one ID')
    checkFilters(values)
    const { admin = DEFAULT_ADMIN } = values
    const json = formatOf(values, ['text', 'json']) === 'json'
    if (values.follow === true) {
      if (id !== undefined || values.decisions !== undefined) {
        throw new UsageError('--follow cannot be combined with an ID or --decisions')
      }
      return followDecisions({ admin, query: filters(values), json }, terminal)
    }
    if (id === undefined && values.decisions !== undefined) throw new UsageError('specify an ID')
    const found =
      id === undefined
        ? await fetchDecisions(admin, `/api/decisions?${filters(values)}`, terminal.environment)
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

const VERDICTS: readonly string[] = [...DECISION_VERDICTS, 'any']

/** Rejects what the gateway would reject too, without calling it. */
function checkFilters({ verdict, since, limit }: ReturnType<typeof parse>['values']): void {
  if (limit !== undefined && !/^[1-9]\d*$/.test(limit)) {
    throw new UsageError('--limit must be a positive number')
  }
  const unknown = verdict?.split(',').find((one) => !VERDICTS.includes(one))
  if (unknown !== undefined) {
    throw new UsageError(`unknown verdict \`${unknown}\`; available: ${VERDICTS.join(', ')}`)
  }
  if (since !== undefined && Number.isNaN(Date.parse(since))) {
    throw new UsageError('--since must be a time, for example 2026-02-03T04:05:06Z')
  }
}

function filters(values: ReturnType<typeof parse>['values']): URLSearchParams {
  const { policy, verdict = 'denied,rejected', since, text, limit = '20' } = values
  const query = new URLSearchParams({ limit })
  if (verdict !== 'any') query.set('verdict', verdict)
  if (policy !== undefined) query.set('policy', policy)
  if (since !== undefined) query.set('since', since)
  if (text !== undefined) query.set('text', text)
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
      text: { type: 'string' },
      limit: { type: 'string' },
      follow: { type: 'boolean' },
      ...FORMAT,
    },
  })
}
