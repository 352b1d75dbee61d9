import type { Target } from '../../model/backend.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { headerTexts } from '../collector-headers.ts'
import type { CompileContext } from '../define.ts'
import { compileLogExpressions, type LogExpressions } from '../log-expressions.ts'
import type { AccessLog } from './schema.ts'

/** What is logged about the requests of a listener. */
export interface AccessLogPolicy extends LogExpressions {
  readonly isOn: boolean
  /** The share of requests that is logged, from 0 to 1. */
  readonly sample: number
  readonly removed: readonly string[]
  /** Undefined: the log is not sent to a collector. */
  readonly otlp: LogExportPolicy | undefined
}

/** Which records a collector receives, and their content. */
export interface LogExportPolicy extends LogExpressions {
  readonly target: Target
  readonly protocol: 'grpc' | 'http'
  /** For OTLP over HTTP. */
  readonly path: string
  /** Sent with each request to the collector. */
  readonly headers: Readonly<Record<string, string>>
  readonly removed: readonly string[]
}

/** `hidden`: headers whose values are never logged. */
export function compileAccessLog(
  policy: ValidPolicy<AccessLog>,
  context: CompileContext,
  hidden: readonly string[],
): AccessLogPolicy {
  const { enabled, filter, sample, add, remove } = policy.value
  const expressions = compileLogExpressions(policy, filter, [['add', add]], context, hidden)
  const otlp = compileExport(policy, expressions, context, hidden)
  return { ...expressions, isOn: enabled, sample, removed: remove, otlp }
}

/** Options that it does not set default to those of the log. */
function compileExport(
  policy: ValidPolicy<AccessLog>,
  shared: LogExpressions,
  context: CompileContext,
  hidden: readonly string[],
): LogExportPolicy | undefined {
  const { otlp, add, remove, ...log } = policy.value
  if (otlp === undefined) return undefined
  const { target, protocol, path, headers, filter = log.filter } = otlp
  const fields = otlp.fields ?? { add, remove }
  const at = otlp.fields === undefined ? 'add' : 'otlp.fields.add'
  const isShared = otlp.fields === undefined && otlp.filter === undefined
  return {
    ...(isShared
      ? shared
      : compileLogExpressions(policy, filter, [[at, fields.add]], context, hidden)),
    target,
    protocol,
    path,
    headers: headerTexts(headers),
    removed: fields.remove,
  }
}
