import { KEEP_ALIVE } from './field-names.ts'
import { type Fields, fieldValue, firstOf } from './fields.ts'

/** Milliseconds of `Keep-Alive: timeout=5`; Infinity if the response announces none. */
export function keepAliveTimeout(fields: Fields): number {
  const index = firstOf(fields, KEEP_ALIVE)
  if (index < 0) return Number.POSITIVE_INFINITY
  const found = /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,9})/i.exec(fieldValue(fields, index))
  return found === null ? Number.POSITIVE_INFINITY : Number(found[1]) * 1_000
}
