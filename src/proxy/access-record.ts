import type { Connection } from '../exchange/connection.ts'
import { type Exchange, ResponseAttributes, type StageVariables } from '../exchange/exchange.ts'
import type { AccessLogProgram, LogExport } from '../program/program.ts'
import type { LogFields, Logger, LogValue } from '../telemetry/log.ts'
import type { LogFieldName } from '../telemetry/log-fields.ts'
import { Milliseconds } from '../telemetry/time-text.ts'
import { mcpFields } from './mcp-observed.ts'
import { modelFields } from './model-record.ts'
import type { RequestState } from './request-state.ts'
import { unwrittenHeaders } from './unwritten-headers.ts'

type Variables = Parameters<NonNullable<AccessLogProgram['filter']>>[0]

/** Only fields that the reference lists. */
export type AccessRecord = { readonly [name in LogFieldName]?: LogValue }

/** Reasons of responses that deny a request: these are logged regardless of sampling. */
const DENIALS: ReadonlySet<string> = new Set([
  'authentication',
  'authorization',
  'external-authorization',
  'csrf',
  'rate-limit',
  'guardrail',
])

/** Sends a record to a collector. */
export type SendRecord = (to: LogExport, fields: LogFields, trace: RequestState['trace']) => void

/** Logs a request as the access log policy of its listener requires. */
export function logRequest(
  log: Logger,
  state: RequestState,
  seconds: number,
  send: SendRecord,
): void {
  const policy = state.listener.accessLog
  if (policy === undefined) {
    if (log.isOn('info')) log.info('request', accessRecord(state, seconds))
    return
  }
  const { exchange } = state
  const isDenial = DENIALS.has(exchange.reason)
  const { otlp } = policy
  const isWritten = log.isOn('info')
  if (!policy.isOn || !(isWritten || otlp) || (!isDenial && isLeftOut(policy))) return
  const variables = variablesOf(exchange)
  if (policy.reads.response || otlp?.reads.response) respond(exchange, seconds)
  const record = accessRecord(state, seconds)
  if (isWritten) write(log, policy, record, variables)
  if (otlp !== undefined && otlp.filter?.(variables) !== false) {
    send(otlp, shaped(record, otlp, variables), state.trace)
  }
}

function write(
  log: Logger,
  policy: AccessLogProgram,
  record: AccessRecord,
  variables: Variables,
): void {
  if (policy.filter?.(variables) !== false) log.info('request', shaped(record, policy, variables))
}

/** The same for a connection that is not HTTP: expressions only see `source` and `destination`. */
export function logConnection(
  log: Logger,
  policy: AccessLogProgram | undefined,
  connection: Connection,
  record: AccessRecord,
  send: SendRecord,
): void {
  if (policy === undefined) {
    log.info('request', record)
    return
  }
  if (!policy.isOn || isLeftOut(policy)) return
  const { otlp } = policy
  const variables = connection as unknown as Variables
  write(log, policy, record, variables)
  if (otlp !== undefined && otlp.filter?.(variables) !== false) {
    send(otlp, shaped(record, otlp, variables), undefined)
  }
}

/** Sets `response` for expressions, once the response is complete. */
export function respond(exchange: Exchange, seconds: number): void {
  exchange.response ??= new ResponseAttributes(exchange, seconds * 1000)
}

/** An exchange has the variables of expressions as fields; the checker allows no other names. */
export function variablesOf(exchange: StageVariables): Variables {
  return exchange
}

export function sourceOf({ source }: Pick<Connection, 'source'>): string {
  const { text } = source.address
  return text.includes(':') ? `[${text}]:${source.port}` : `${text}:${source.port}`
}

function isLeftOut({ sample }: AccessLogProgram): boolean {
  return sample < 1 && Math.random() >= sample
}

function shaped(
  record: AccessRecord,
  { fields, removed }: Pick<AccessLogProgram, 'fields' | 'removed'>,
  variables: Variables,
): Record<string, LogValue> {
  const own: Record<string, LogValue> = { ...record }
  for (const name of removed) own[name] = undefined
  for (const { name, valueIn, entriesIn } of fields) {
    if (entriesIn === undefined) own[name] = valueIn(variables)
    else for (const [inner, value] of entriesIn(variables)) own[inner] = value
  }
  return own
}

function accessRecord(state: RequestState, seconds: number): AccessRecord {
  const { exchange, trace } = state
  const { request, connection, jwt } = exchange
  const unwritten = unwrittenHeaders(exchange)
  return {
    gateway: state.listener.gateway,
    listener: state.listener.listener.name,
    route: state.route?.name || undefined,
    backend: state.backend?.name,
    provider: state.selection?.chosen?.provider,
    endpoint: state.endpoint === '' ? undefined : state.endpoint,
    'src.addr': sourceOf(exchange),
    'src.identity': exchange.source.identity,
    'http.method': request.method,
    'http.host': request.host,
    'http.path': request.path,
    'http.version': request.version,
    'http.status': exchange.status,
    'grpc.status': exchange.grpcStatus < 0 ? undefined : exchange.grpcStatus,
    'tls.sni': connection.sni,
    'request.id': request.id,
    'trace.id': trace?.traceId,
    'span.id': trace?.spanId,
    'jwt.sub': typeof jwt?.sub === 'string' ? jwt.sub : undefined,
    ...modelFields(state),
    ...mcpFields(state),
    'headers.unwritten': unwritten.length === 0 ? undefined : unwritten.join(', '),
    'retry.attempt': state.retries === 0 ? undefined : state.retries,
    reason: exchange.reason,
    detail: exchange.detail === '' ? undefined : exchange.detail,
    'bytes.received': exchange.bytesReceived,
    'bytes.sent': exchange.bytesSent,
    duration: new Milliseconds(seconds * 1000),
  }
}
