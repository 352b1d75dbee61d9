import { becauseOf } from '../../analysis/decisions/because.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import type { Seen } from './client.ts'
import type { Expected, McpOutcome } from './format.ts'
import type { Arrival } from './stand-ins.ts'

/** Everything that resulted from one request. */
export interface Happened {
  readonly seen: Seen
  readonly decisions: readonly DecisionRecord[]
  readonly arrivals: readonly Arrival[]
  /** For a case about a tool, prompt or resource; `outcome` is undefined after a rejection. */
  readonly mcp?: { readonly outcome: McpOutcome | undefined }
}

/** Returns the differences from what is expected; empty if there are none. */
export function judge(expected: Expected, happened: Happened): readonly string[] {
  const { seen } = happened
  if (seen.kind === 'unsent') return [`cannot send the request: ${seen.error}`]
  return [
    ...judgeMcp(expected, happened),
    ...judgeResponse(expected, happened),
    ...judgeDecision(expected, happened),
    ...judgeUpstream(expected.upstream, happened.arrivals),
  ]
}

function* judgeMcp({ mcp: wanted }: Expected, happened: Happened): Generator<string> {
  const { mcp, seen, decisions } = happened
  if (wanted === undefined || mcp === undefined || mcp.outcome === wanted) return
  const why = whyOf(403, decisions)
  const got = mcp.outcome ?? (seen.kind === 'responded' ? `status ${seen.status}` : seen.error)
  yield `expected \`${wanted}\`, got ${mcp.outcome === undefined ? got : `\`${got}\``}${why === '' ? '' : `: ${why}`}`
}

function* judgeResponse(
  { closed, status, headers, body }: Expected,
  { seen, decisions }: Happened,
): Generator<string> {
  const why = whyOf(status, decisions)
  if (closed === true && seen.kind === 'responded') {
    yield `expected the connection to be closed, got ${seen.status}`
  }
  if (seen.kind !== 'responded') {
    if (status !== undefined) {
      yield `expected ${status}, but the connection was closed: ${why === '' ? seen.error : why}`
    }
    return
  }
  if (status !== undefined && seen.status !== status) {
    yield `expected ${status}, got ${seen.status}${why === '' ? '' : `: ${why}`}`
  }
  yield* judgeHeaders('the response', headers, seen.headers)
  if (body !== undefined && !seen.body.includes(body)) {
    yield `expected a body that contains ${JSON.stringify(body)}, got ${JSON.stringify(seen.body.slice(0, 200))}`
  }
}

function* judgeDecision(
  { because, policy, stage }: Expected,
  { decisions }: Happened,
): Generator<string> {
  if (because === undefined && policy === undefined && stage === undefined) return
  const deciding = decidingOf(decisions)
  if (deciding === undefined) {
    yield 'no decision was made'
    return
  }
  const reason = becauseOf(deciding)
  if (because !== undefined && because !== reason) {
    const { rule } = deciding
    const text = rule === undefined ? '' : `: ${rule.expression} (${rule.origin})`
    yield `expected because \`${because}\`, got \`${reason}\`${text}`
  }
  const own = (deciding.rule ?? deciding.by)?.policy
  if (policy !== undefined && policy !== own) {
    yield `expected policy \`${policy}\` to decide, got \`${own ?? 'none'}\``
  }
  if (stage !== undefined && stage !== deciding.stage) {
    yield `expected a decision at stage ${stage}, got stage ${deciding.stage}`
  }
}

/** The reason for a different status, if a decision caused it. */
function whyOf(status: number | undefined, decisions: readonly DecisionRecord[]): string {
  const deciding = decidingOf(decisions)
  if (deciding === undefined) return ''
  const { verdict, enforced, rule, detail } = deciding
  const isDenied = verdict !== 'allowed' && enforced
  if (!isDenied && !DENIALS.has(status ?? 0)) return ''
  const more = rule === undefined ? detail : `${rule.expression} (${rule.origin})`
  return more === undefined ? becauseOf(deciding) : `${becauseOf(deciding)}: ${more}`
}

const DENIALS: ReadonlySet<number> = new Set([401, 403, 407])

/** The enforced denial; without one, what rejected it; without that, the last decision. */
function decidingOf(decisions: readonly DecisionRecord[]): DecisionRecord | undefined {
  return (
    decisions.find(
      ({ verdict, enforced, skipped }) => verdict === 'denied' && enforced && skipped !== true,
    ) ??
    decisions.find(({ verdict }) => verdict === 'rejected') ??
    decisions.at(-1)
  )
}

function* judgeHeaders(
  whose: string,
  expected: Readonly<Record<string, string | null>> = {},
  got: Readonly<Record<string, string>>,
): Generator<string> {
  for (const [name, value] of Object.entries(expected)) {
    const own = got[name.toLowerCase()]
    if (value === null && own !== undefined)
      yield `unexpected header in ${whose}: \`${name}: ${own}\``
    else if (value !== null && own !== value) {
      yield `expected \`${name}: ${value}\` in ${whose}, got ${own === undefined ? 'none' : `\`${own}\``}`
    }
  }
}

function* judgeUpstream(
  expected: Expected['upstream'],
  arrivals: readonly Arrival[],
): Generator<string> {
  const [arrival] = arrivals
  if (expected === undefined) return
  if (expected === false) {
    if (arrival !== undefined)
      yield `expected no backend request, but ${arrival.backend} received ${arrival.method} ${arrival.path}`
    return
  }
  if (arrival === undefined) {
    yield 'no backend received the request'
    return
  }
  for (const key of ['backend', 'method', 'path', 'body'] as const) {
    const wanted = expected[key]
    if (wanted === undefined || wanted === arrival[key]) continue
    yield `expected the backend request to have ${key} ${JSON.stringify(wanted)}, got ${JSON.stringify(arrival[key])}`
  }
  yield* judgeHeaders('the backend request', expected.headers, arrival.headers)
}
