import { rejectionText } from '../../../src/diagnostics/rejection-causes.ts'
import type { Decision, Miss } from '../api/shapes.ts'

/** Explains a decision in one sentence. */
export function reasonOf(decision: Decision): string {
  const { kind, cause, rule, nearest, variable, reason, invalid, credentials } = decision
  if (kind === 'rejection') return rejectionOf(decision)
  switch (cause) {
    case 'matched':
      return rule === undefined
        ? 'A rule matched'
        : `The ${rule.action} rule ${rule.expression} matched`
    case 'false':
      return rule === undefined
        ? 'A Require rule is false'
        : `The Require rule ${rule.expression} is false`
    case 'unset':
      return `${variable ?? 'An attribute'} is missing`
    case 'error':
      return reason ?? 'A rule could not be evaluated'
    case 'no-allow-match': {
      const [miss] = nearest?.misses ?? []
      return miss === undefined ? 'No Allow rule matched' : `No Allow rule matched: ${missOf(miss)}`
    }
    case 'no-rules':
      return 'No rule denied it'
    case 'invalid-policy':
      return `Policy ${invalid?.policy ?? ''} is invalid and denies all requests`
    case 'credentials':
      return `${credentials?.method ?? 'Authentication'} rejected the credentials`
    case 'cross-site':
      return 'It is a cross-site request'
    default:
      return cause
  }
}

function rejectionOf({ cause, skipped, detail, by }: Decision): string {
  const words = skipped === true ? 'rules omit items from a list' : rejectionText(cause)
  const policy = by === undefined ? '' : `, by ${by.kind} of ${by.policy}`
  const text = `${words}${detail === undefined ? '' : `: ${detail}`}${policy}`
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function missOf({ condition, wanted, cause, variable, reason }: Miss): string {
  if (cause === 'unset') return `${variable ?? condition} is missing`
  if (cause === 'error') return reason ?? `${condition} could not be evaluated`
  return `${condition} is ${cause} but must be ${wanted}`
}
