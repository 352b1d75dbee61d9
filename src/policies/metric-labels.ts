import type { Variables } from '../cel/index.ts'
import type { Json } from '../cel/values/json-write.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { CompileContext } from './define.ts'
import { compileLogExpressions, type LogReads } from './log-expressions.ts'

/** Labels that the configuration adds to request metrics. */
export interface MetricLabels {
  readonly reads: Readonly<LogReads>
  /** Label values, in the order of the names. */
  readonly valuesIn: (variables: Variables) => readonly string[]
}

/** Max characters of a label value; longer values are truncated. */
const MAX_LENGTH = 128
const UNKNOWN = 'unknown'

export function compileMetricLabels(
  labels: Readonly<Record<string, string>>,
  context: CompileContext,
  hidden: readonly string[],
): MetricLabels {
  const { fields, reads } = compileLogExpressions(
    settingOf(labels),
    undefined,
    [['fields.add', labels]],
    context,
    hidden,
  )
  const byName = new Map(fields.map(({ name, valueIn }) => [name, valueIn]))
  const all = Object.keys(labels).map((name) => byName.get(name))
  return {
    reads,
    valuesIn: (variables) => all.map((valueIn) => textOf(valueIn?.(variables))),
  }
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return UNKNOWN
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.slice(0, MAX_LENGTH)
}

/** Process settings are not policies, but expressions are compiled on behalf of one. */
function settingOf(value: Readonly<Record<string, string>>): ValidPolicy {
  return {
    state: 'valid',
    kind: 'metrics',
    section: 'frontend',
    level: 'frontend',
    policy: 'config:metrics',
    origin: { kind: 'object', object: 'config', field: 'metrics.fields.add' },
    value,
  }
}
