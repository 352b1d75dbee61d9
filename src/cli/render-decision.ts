import { rejectionText } from '../diagnostics/rejection-causes.ts'
import type {
  AttributeRecord,
  DecisionRecord,
  MissRecord,
  RuleRecord,
} from '../telemetry/decision-record.ts'
import { missingHint } from './missing.ts'
import type { Paint } from './paint.ts'

const WIDTH = 10

/** Renders a decision for people: what, who, where, and above all why. */
export function renderDecision(record: DecisionRecord, paint: Paint): string {
  const lines = [
    headline(record, paint),
    ...field(paint, 'when', [paint('plain', `${record.time}   id ${record.id}`)]),
    ...field(paint, 'from', [paint('plain', placeOfClient(record))]),
    ...field(paint, 'where', [paint('plain', whereabouts(record))]),
    ...field(paint, 'because', because(record, paint)),
    ...field(paint, 'nearest', nearest(record, paint)),
    ...field(paint, 'audit', audited(record, paint)),
    ...field(paint, 'read', attributes(record, paint)),
  ]
  return `${lines.join('\n')}\n`
}

/** Renders a decision as one line, for a list. */
export function renderDecisionLine(record: DecisionRecord, paint: Paint): string {
  const { id, time, rule, invalid, by: enforced, cause, kind, reason } = record
  const policy = invalid ?? enforced
  const whose = policy === undefined ? '' : `${policy.policy} ${policy.kind} `
  const why = kind === 'authentication' && reason !== undefined ? `${cause}: ${reason}` : cause
  const by = rule === undefined ? `${whose}${why}` : `${rule.policy} ${labelOf(rule)} ${cause}`
  const what = paint(isBad(record) ? 'bad' : 'good', verdictOf(record).padEnd(10))
  return `${paint('plain', time)}  ${what}  ${paint('plain', id)}  ${paint('title', subjectOf(record))}  ${paint('faint', by)}`
}

function headline(record: DecisionRecord, paint: Paint): string {
  const status = record.status === undefined ? '' : `  ${record.status}`
  const verdict = paint(isBad(record) ? 'bad' : 'good', verdictOf(record))
  return `${verdict}  ${paint('title', subjectOf(record))}${paint('title', status)}`
}

function verdictOf({ kind, verdict, enforced, skipped, cause }: DecisionRecord): string {
  if (skipped === true && (cause === 'pin' || kind === 'rejection')) {
    return enforced ? 'hidden' : 'would hide'
  }
  if (skipped === true) return 'skipped'
  return verdict === 'denied' && !enforced ? 'would deny' : verdict
}

function isBad({ verdict }: DecisionRecord): boolean {
  return verdict !== 'allowed'
}

function subjectOf({ method, host = '', path = '', sni, gateway, status }: DecisionRecord): string {
  if (method !== undefined) return `${method} ${host}${path}`
  if (status !== undefined) return 'a request that could not be read'
  return `connection to ${sni ?? gateway}`
}

function placeOfClient({ source, sni }: DecisionRecord): string {
  return sni === undefined ? source : `${source}, server name ${sni}`
}

function whereabouts(record: DecisionRecord): string {
  const { gateway, listener, route, backend, provider, stage } = record
  const parts = [`gateway ${gateway}`]
  if (listener !== undefined) parts.push(`listener ${listener}`)
  if (route !== undefined) parts.push(`route ${route}`)
  if (backend !== undefined) parts.push(`backend ${backend}`)
  if (provider !== undefined) parts.push(`provider ${provider}`)
  return `${parts.join(', ')} (${stage})`
}

function because(record: DecisionRecord, paint: Paint): readonly string[] {
  const { cause, rule, detail, kind } = record
  if (kind === 'rejection') return rejectionLines(record, paint)
  if (kind !== 'authorization') {
    const more = detail === undefined || detail === '' ? '' : `: ${detail}`
    const by = record.credentials
    return [
      paint('bad', `${denialOf(record)}${more}`),
      ...(by === undefined ? [] : [paint('faint', `${by.kind} of ${by.policy} (${by.level})`)]),
    ]
  }
  if (cause === 'no-allow-match') return [paint('bad', 'no Allow rule matched')]
  if (cause === 'no-rules') return ['no rule denied it']
  if (cause === 'invalid-policy') return invalidLines(record, paint)
  if (cause === 'pin') return pinLines(record, paint)
  if (rule === undefined) return [cause]
  return [
    `${rule.action} rule ${paint('name', labelOf(rule))} of ${paint('name', rule.policy)} ${outcome(record)}`,
    ...ruleLines(rule, paint),
    ...failure(record, paint),
  ]
}

function rejectionLines(
  { cause, detail, by, skipped }: DecisionRecord,
  paint: Paint,
): readonly string[] {
  const why = skipped === true ? 'rules omit items from a list' : rejectionText(cause)
  const more = detail === undefined ? '' : `: ${detail}`
  const { kind = '', policy = '', origin = '', section = '', level = '' } = by ?? {}
  return [
    paint('bad', `${why}${more}`),
    ...(by === undefined
      ? []
      : [
          `${paint('name', kind)} of ${paint('name', policy)}`,
          `  ${paint('faint', `${origin} (${section}, ${level})`)}`,
        ]),
  ]
}

/** Neither the verdict of a service nor its failure to respond is a problem with credentials. */
function denialOf({ kind, reason = '', credentials }: DecisionRecord): string {
  if (kind === 'csrf') return 'rejected before authentication'
  const isExternal = credentials?.method === 'external'
  if (isExternal && reason === 'denied') return 'the external service denied the request'
  if (isExternal && reason === 'unavailable') return 'the external service could not be reached'
  if (isExternal) return `the external service was not called: ${reason}`
  return `the credentials were rejected: ${reason}`
}

function invalidLines({ invalid, reason }: DecisionRecord, paint: Paint): readonly string[] {
  const why = reason === undefined ? [] : [paint('warn', reason)]
  if (invalid === undefined)
    return [paint('bad', 'a policy is invalid and denies all requests'), ...why]
  const { kind, policy, origin, section, level } = invalid
  return [
    `${paint('name', kind)} of ${paint('name', policy)} ${paint('bad', 'is invalid and denies all requests that it guards')}`,
    `  ${paint('faint', `${origin} (${section}, ${level})`)}`,
    ...why,
  ]
}

function pinLines({ reason = '', skipped }: DecisionRecord, paint: Paint): readonly string[] {
  const hint = 'review the tools that the server lists now; to approve them, run `portcullis pin`'
  const where = skipped === true ? 'omitted from a list: ' : ''
  return [paint('bad', `${where}${reason}`), paint('faint', hint)]
}

function outcome({ cause, rule }: DecisionRecord): string {
  const mode = rule?.mode === 'Audit' ? ' (audit mode)' : ''
  const words = {
    matched: 'is true',
    false: 'is false',
    error: 'failed',
    unset: 'is undefined',
  } as const
  return `${words[cause as keyof typeof words] ?? cause}${mode}`
}

function ruleLines({ expression, origin, level, section }: RuleRecord, paint: Paint) {
  return [
    `  ${paint('title', expression)}`,
    `  ${paint('faint', `${origin} (${section}, ${level})`)}`,
  ]
}

function failure(
  { variable, present, reason }: Pick<DecisionRecord, 'variable' | 'present' | 'reason'>,
  paint: Paint,
): readonly string[] {
  if (variable !== undefined) return [paint('warn', missingHint(variable, present))]
  return reason === undefined ? [] : [paint('warn', reason)]
}

function nearest({ nearest: near, examined }: DecisionRecord, paint: Paint): readonly string[] {
  const lines: string[] = []
  if (near !== undefined) {
    lines.push(`${paint('name', labelOf(near))} of ${paint('name', near.policy)}`)
    lines.push(...ruleLines(near, paint))
    for (const miss of near.misses) lines.push(...missLines(miss, paint))
  }
  if (examined?.search === 'skipped') {
    lines.push(paint('warn', 'not searched: too many denials at once'))
  } else if (examined?.search === 'bounded') {
    const { rules, of } = examined
    lines.push(paint('warn', `searched ${rules} of ${of} Allow rules: others may be nearer`))
  }
  return lines
}

function missLines(miss: MissRecord, paint: Paint): readonly string[] {
  const { condition, wanted, cause } = miss
  const was = cause === 'unset' ? 'is undefined' : cause === 'error' ? 'failed' : `is ${cause}`
  return [
    `${paint('bad', '✗')} ${paint('title', condition)} ${was} (must be ${wanted})`,
    ...failure(miss, paint).map((line) => `  ${line}`),
  ]
}

function audited({ audited: all }: DecisionRecord, paint: Paint): readonly string[] {
  if (all === undefined) return []
  const { verdict, cause, rule } = all
  const by = rule === undefined ? cause : `${rule.policy} ${labelOf(rule)}, ${cause}`
  return [
    `if audit mode were enforced: ${paint(verdict === 'denied' ? 'bad' : 'good', verdict)} ${paint('plain', `(${by})`)}`,
  ]
}

function attributes({ attributes: all }: DecisionRecord, paint: Paint): readonly string[] {
  const width = Math.min(40, Math.max(0, ...all.map(({ name }) => name.length)))
  return all.map(
    (attribute) =>
      `${paint('plain', attribute.name.padEnd(width))}  ${shownValue(attribute, paint)}`,
  )
}

function shownValue({ state, value }: AttributeRecord, paint: Paint): string {
  if (state === 'unset') return paint('warn', 'not set')
  if (state === 'redacted') return paint('faint', 'redacted')
  return paint('title', `${JSON.stringify(value)}${state === 'cut' ? ' …' : ''}`)
}

function labelOf({ kind, index }: RuleRecord): string {
  return `${kind}[${index}]`
}

function field(paint: Paint, name: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => {
    const title = at === 0 ? paint('faint', name.padEnd(WIDTH)) : ' '.repeat(WIDTH)
    return `  ${title}${line}`
  })
}
