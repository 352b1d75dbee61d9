import {
  authenticationFailures,
  authorizationDecisions,
} from '../../telemetry/definitions/authorization.ts'
import { llmCost, llmRequests, llmTokens } from '../../telemetry/definitions/llm.ts'
import { requests, requestsActive } from '../../telemetry/definitions/requests.ts'
import type { MetricView } from '../../telemetry/exposition.ts'

type Counts = Record<string, number>

/** The key figures of the overview page. */
export function summariseMetrics(metrics: Iterable<MetricView>) {
  const byStatus: Counts = {}
  const byRoute: Counts = {}
  const byReason: Counts = {}
  const byVerdict: Counts = {}
  const deniedByPolicy: Counts = {}
  const llm = { requests: {} as Counts, tokens: {} as Counts, cost: {} as Counts }
  let [total, active, failures] = [0, 0, 0]
  for (const { definition, labelNames, series } of metrics) {
    for (const one of series) {
      if (!('value' in one)) continue
      const { value } = one
      const label = (name: string) => one.labels[labelNames.indexOf(name)] ?? ''
      if (definition.name === requests.name) {
        total += value
        add(byStatus, label('status'), value)
        add(byRoute, label('route'), value)
        add(byReason, label('reason'), value)
      } else if (definition.name === requestsActive.name) active += value
      else if (definition.name === authorizationDecisions.name) {
        add(byVerdict, label('verdict'), value)
        if (label('verdict') === 'denied') add(deniedByPolicy, label('policy'), value)
      } else if (definition.name === authenticationFailures.name) failures += value
      else if (definition.name === llmRequests.name) add(llm.requests, label('model'), value)
      else if (definition.name === llmTokens.name) add(llm.tokens, label('model'), value)
      else if (definition.name === llmCost.name) add(llm.cost, label('model'), value)
    }
  }
  return {
    requests: { total, active, byStatus, byRoute, byReason },
    decisions: { byVerdict, deniedByPolicy },
    authenticationFailures: failures,
    llm,
  }
}

function add(counts: Counts, name: string, value: number): void {
  if (value > 0) counts[name] = (counts[name] ?? 0) + value
}
