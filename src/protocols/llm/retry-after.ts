import type { HeaderLookup } from './dialect.ts'

/** Milliseconds that a provider wants to be left alone for; undefined: it does not say. */
export function retryAfterOf(header: HeaderLookup): number | undefined {
  const exact = Number.parseFloat(header('retry-after-ms') ?? '')
  if (exact >= 0) return exact
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
