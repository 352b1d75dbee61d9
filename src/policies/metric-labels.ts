import type { Variables } from '../cel/index.ts'
import type { Json } from '../cel/values/json-write.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { CompileContext } from './define.ts'
import { compileLogExpressions, type LogReads } from './log-expressions.ts'

/** Labels of metrics about requests that the configuration adds. */
export interface MetricLabels {
  readonly reads: Readonly<LogReads>
  /** Their values, in the order of their names. */
  readonly valuesIn: (variables: Variables) => readonly string[]
}

/** A longer value is none to count by. */
const LONGEST = 128
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
  return text.slice(0, LONGEST)
}

/** Settings of the process are no policy; what compiles expressions wants to know whose they are. */
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
