import type { ValidPolicy } from '../../model/policy.ts'
import type { CompileContext } from '../define.ts'
import { compileLogExpressions, type LogExpressions } from '../log-expressions.ts'
import type { AccessLog } from './schema.ts'

/** What is written of the requests of a listener. */
export interface AccessLogProgram extends LogExpressions {
  readonly isOn: boolean
  /** The share of requests that are written, of 1. */
  readonly sample: number
  readonly removed: readonly string[]
}

/** `hidden`: headers whose values are never written. */
export function compileAccessLog(
  policy: ValidPolicy<AccessLog>,
  context: CompileContext,
  hidden: readonly string[],
): AccessLogProgram {
  const { enabled, filter, sample, add, remove } = policy.value
  const expressions = compileLogExpressions(policy, filter, [['add', add]], context, hidden)
  return { ...expressions, isOn: enabled, sample, removed: remove }
}
