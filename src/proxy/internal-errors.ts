import type { Connection } from '../exchange/connection.ts'
import type { RulePlace } from '../exchange/decision.ts'
import { PolicyError } from '../exchange/policy-error.ts'
import { type ShowOrigin, showPart } from '../program/policy-record.ts'
import { internalErrors } from '../telemetry/definitions/process.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { ownFrame } from '../telemetry/own-frame.ts'
import { sourceOf } from './access-record.ts'
import type { CallOutName } from './call-outs.ts'
import type { RequestState } from './request-state.ts'

/** What is known about the place where something threw. */
export interface ErrorPlace {
  readonly state?: RequestState | undefined
  readonly requestId?: string | undefined
  readonly connection?: Connection | undefined
  readonly gateway?: string | undefined
  readonly listener?: string | undefined
  readonly rule?: RulePlace | undefined
}

export type ReportError = (callOut: CallOutName, error: unknown, place?: ErrorPlace) => void

/** Reports internal errors on the request path: each is one log record and one count. */
export function errorReporter(
  log: Logger,
  metrics: Metrics,
  show: ShowOrigin = showPart,
): ReportError {
  const errors = metrics.counter(internalErrors).of({})
  return (callOut, error, place = {}) => {
    try {
      errors.at(callOut).inc()
      log.error('internal', recordOf(callOut, error, place, show))
    } catch {
      // The log itself failed: the error cannot be reported, and must not affect the request.
    }
  }
}

function recordOf(callOut: CallOutName, error: unknown, place: ErrorPlace, show: ShowOrigin) {
  const { state, connection, rule } = place
  const policy = error instanceof PolicyError ? error.policy : undefined
  const thrown = error instanceof PolicyError ? error.cause : error
  return {
    'call-out': callOut,
    gateway: state?.listener.gateway ?? place.gateway,
    listener: state?.listener.listener.name ?? place.listener,
    route: state?.route?.name || undefined,
    backend: state?.backend?.name,
    policy: rule?.policy ?? policy?.policy,
    kind: rule === undefined ? policy?.kind : undefined,
    rule: rule && `${rule.kind}[${rule.index}]`,
    origin: rule && show(rule.origin),
    'src.addr': connection && sourceOf(connection),
    'request.id': state?.exchange.request.id ?? place.requestId,
    error: messageOf(thrown),
    at: ownFrame(thrown),
  }
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`.toWellFormed()
}

const MAX_LENGTH = 512
