import { type Clock, createClock } from './clock.ts'
import { randomHex } from './random.ts'
import { RANDOM, SAMPLED, type TraceContext } from './trace-context.ts'

export type AttributeValue = string | number | boolean | bigint | readonly string[]

export type SpanKind = 'internal' | 'server' | 'client'

/** An operation with its start, end and parent: a record that is filled until it ends. */
export interface Span extends TraceContext {
  /** The parent span; empty for a root span. */
  readonly parentId: string
  readonly isParentRemote: boolean
  /** As received, for the next hop. */
  readonly tracestate: string
  readonly kind: SpanKind
  name: string
  /** Microseconds since 1970. */
  readonly start: number
  end: number
  attributes: { [name: string]: AttributeValue | undefined }
  status: 'unset' | 'ok' | 'error'
  /** The reason for the error. */
  message: string
}

export interface Sampling {
  /** Share of the traces that begin here, 0 to 1. */
  readonly ratio: number
  /** Share of the traces that arrive sampled: a client may request any number of them. */
  readonly parentRatio: number
}

export interface TracerOptions {
  readonly sampling: Sampling
  /** Called with each span that has ended. */
  readonly export: (span: Span) => void
  readonly clock?: Clock
}

export interface Tracer {
  /** The trace of a request, sampled or not: an unsampled trace still has a context. */
  readonly join: (parent: TraceContext | undefined, sampled?: boolean) => Joined
  /** Begins the span of a request; `beginWithin` begins a child span. */
  readonly begin: (joined: Joined, kind: SpanKind, name: string, tracestate?: string) => Span
  readonly beginWithin: (parent: Span, kind: SpanKind, name: string) => Span
  readonly end: (span: Span) => void
}

/** A trace with a sampling decision: `isSampled` says whether to begin spans. */
export interface Joined extends TraceContext {
  readonly isSampled: boolean
  readonly isRemote: boolean
}

export function createTracer(options: TracerOptions): Tracer {
  const { sampling, clock = createClock() } = options

  const begin = (
    { traceId, flags }: TraceContext,
    parentId: string,
    isParentRemote: boolean,
    kind: SpanKind,
    name: string,
    tracestate: string,
  ): Span => ({
    traceId,
    spanId: randomHex(8),
    flags,
    parentId,
    isParentRemote,
    tracestate,
    kind,
    name,
    start: clock(),
    end: 0,
    attributes: {},
    status: 'unset',
    message: '',
  })

  return {
    join: (parent, sampled) => {
      if (parent === undefined) {
        const traceId = randomHex(16)
        const isSampled = sampled ?? isWithin(traceId, sampling.ratio)
        const flags = RANDOM | (isSampled ? SAMPLED : 0)
        // Upstreams that get an unsampled context do not begin their own traces.
        return { traceId, spanId: randomHex(8), flags, isSampled, isRemote: false }
      }
      const wanted = (parent.flags & SAMPLED) !== 0
      const isSampled = sampled ?? (wanted && isWithin(parent.traceId, sampling.parentRatio))
      const flags = (parent.flags & RANDOM) | (isSampled ? SAMPLED : 0)
      return { traceId: parent.traceId, spanId: parent.spanId, flags, isSampled, isRemote: true }
    },
    begin: (joined, kind, name, tracestate = '') =>
      begin(joined, joined.isRemote ? joined.spanId : '', joined.isRemote, kind, name, tracestate),
    beginWithin: (parent, kind, name) =>
      begin(parent, parent.spanId, false, kind, name, parent.tracestate),
    end: (span) => {
      span.end = Math.max(clock(), span.start)
      options.export(span)
    },
  }
}

/**
 * Everything that applies a ratio in this way decides the same for the same trace, and a larger
 * ratio includes the traces of a smaller one: a trace is included if its last 56 bits are high
 * enough.
 */
export function isWithin(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true
  if (!(ratio > 0)) return false
  // A ratio can distinguish only 52 of them.
  return Number.parseInt(traceId.slice(18, 31), 16) >= (1 - ratio) * 2 ** 52
}
