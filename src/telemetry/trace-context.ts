/**
 * The position of a request in a trace: W3C Trace Context, https://www.w3.org/TR/trace-context-2/.
 */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all 0. */
  readonly traceId: string
  /** 16 hexadecimal digits: the span of the sender. */
  readonly spanId: string
  /** Bits: 1 means sampled, 2 means that the trace ID is random. */
  readonly flags: number
}

export const SAMPLED = 1
export const RANDOM = 2

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/
/** The length of version 00. */
const LENGTH = 55
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/**
 * Undefined if the header is invalid: then a new trace begins, and tracestate is ignored. For
 * future versions, the fields of version 00 are used; `ff` is not a version.
 */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || !TRACEPARENT.test(header)) return undefined
  if (header.startsWith('ff') || (header.startsWith('00') && header.length !== LENGTH)) {
    return undefined
  }
  const traceId = header.slice(3, 35)
  const spanId = header.slice(36, 52)
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  const flags = Number.parseInt(header.slice(53, LENGTH), 16) & (SAMPLED | RANDOM)
  return { traceId, spanId, flags }
}

/** Always writes version 00, whatever version was received. */
export function writeTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${flags & (SAMPLED | RANDOM)}`
}

export type TraceState = readonly (readonly [key: string, value: string])[]

const MAX_MEMBERS = 32
/** The length that every implementation forwards; more may be cut. */
const MAX_STATE = 512
/** Longer members are removed first. */
const LONG_MEMBER = 128

const SIMPLE_KEY = /^[a-z0-9][a-z0-9_\-*/]{0,255}$/
const TENANT_KEY = /^[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}$/
/** Printable ASCII without comma and equals, not ending with a space. */
const VALUE = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

/**
 * Several headers are one, joined by commas. Undefined if any member is invalid: all or nothing.
 */
export function parseTracestate(header: string | undefined): TraceState | undefined {
  if (header === undefined) return undefined
  const members = new Map<string, string>()
  for (const part of header.split(',')) {
    const member = unpadded(part)
    if (member === '') continue
    const equals = member.indexOf('=')
    const key = member.slice(0, Math.max(equals, 0))
    const value = member.slice(equals + 1)
    if (!(SIMPLE_KEY.test(key) || TENANT_KEY.test(key)) || !VALUE.test(value)) return undefined
    if (members.has(key) || members.size === MAX_MEMBERS) return undefined
    members.set(key, value)
  }
  return members.size === 0 ? undefined : [...members]
}

/** Linear: a regular expression for trailing spaces would retry from each inner space. */
function unpadded(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isPadding(text[start])) start++
  while (end > start && isPadding(text[end - 1])) end--
  return text.slice(start, end)
}

function isPadding(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

/** Writes one header. If it is too long, long members are removed first, then the oldest ones. */
export function writeTracestate(state: TraceState): string {
  const members = state.slice(0, MAX_MEMBERS).map(([key, value]) => `${key}=${value}`)
  let length = members.reduce((sum, member) => sum + member.length + 1, -1)
  const dropWhere = (isDropped: (member: string) => boolean) => {
    for (let i = members.length - 1; i >= 0 && length > MAX_STATE; i--) {
      const member = members[i] as string
      if (!isDropped(member)) continue
      members.splice(i, 1)
      length -= member.length + 1
    }
  }
  dropWhere((member) => member.length > LONG_MEMBER)
  dropWhere(() => true)
  return members.join(',')
}
