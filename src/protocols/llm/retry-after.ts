import type { HeaderLookup } from './dialect.ts'

/** Returns the delay in milliseconds that a provider requests before a retry; undefined if none. */
export function retryAfterOf(header: HeaderLookup): number | undefined {
  const exact = Number.parseFloat(header('retry-after-ms') ?? '')
  if (exact >= 0) return exact
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
