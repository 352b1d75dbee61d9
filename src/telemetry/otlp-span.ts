import type { AttributeValue, Span } from './trace.ts'

/** Enum values of opentelemetry.proto.trace.v1, which JSON uses too. */
export const KINDS = { internal: 1, server: 2, client: 3 } as const
export const STATUSES = { unset: 0, ok: 1, error: 2 } as const

/** The resource and scope of all spans. */
export interface TraceSource {
  /** Attributes of the process, `service.name` first. */
  readonly resource: Readonly<Record<string, AttributeValue>>
  readonly scope: { readonly name: string; readonly version: string }
}

/** Bit 8: it is known whether the parent is remote; bit 9: the parent is remote. */
export function spanFlags({ flags, parentId, isParentRemote }: Span): number {
  if (parentId === '') return flags
  return flags | 0x100 | (isParentRemote ? 0x200 : 0)
}

/** Unsigned numbers of expressions may exceed the only integer type of OTLP. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}
