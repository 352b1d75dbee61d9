import type { Diagnostic } from './diagnostic.ts'
import { type Present, type Result, rejection, success } from './result.ts'

/** The function that readers use to report: `report({ code: 'PC0107', … })`. */
export type Report = (diagnostic: Diagnostic) => void

export interface Collector {
  readonly report: Report
  /** Everything that was reported, in source order. */
  diagnostics(): readonly Diagnostic[]
  hasErrors(): boolean
  /** The value with everything that was reported; `undefined` is valid only after an error. */
  result<T extends Present>(value: T | undefined): Result<T>
}

/**
 * Input is not trusted: a file with a million mistakes must not produce a million messages. Errors
 * displace warnings, so that the limit never turns an invalid input into a valid one.
 */
export function collector(limit = 1000): Collector {
  const seen = new Set<string>()
  const kept: Diagnostic[] = []
  let errors = 0
  let leftOut = 0
  let last: Diagnostic | undefined

  const report: Report = (diagnostic) => {
    // Two readers of the same text often report the same mistake.
    const key = identity(diagnostic)
    if (seen.has(key)) return
    const isError = diagnostic.severity === 'error'
    if (kept.length >= limit) {
      leftOut++
      last = diagnostic
      if (!isError || errors === kept.length) return
      kept.splice(kept.findLastIndex(isNoError), 1)
    }
    if (isError) errors++
    seen.add(key)
    kept.push(diagnostic)
  }

  const diagnostics = (): readonly Diagnostic[] => {
    const ordered = kept.toSorted(byPlace)
    return last === undefined ? ordered : [...ordered, furtherMessages(leftOut, last)]
  }

  return {
    report,
    diagnostics,
    hasErrors: () => errors > 0,
    result<T extends Present>(value: T | undefined): Result<T> {
      return value === undefined ? rejection(diagnostics()) : success(value, diagnostics())
    },
  }
}

function isNoError({ severity }: Diagnostic): boolean {
  return severity !== 'error'
}

function furtherMessages(count: number, last: Diagnostic): Diagnostic {
  return {
    code: 'PC0001',
    severity: 'info',
    message: count === 1 ? '1 more message was omitted' : `${count} more messages were omitted`,
    origin: last.origin,
    hint: 'fix the first ones and check again: they often have the same cause',
  }
}

function identity({ code, message, origin, excerpt }: Diagnostic): string {
  return JSON.stringify([code, message, origin, excerpt?.start, excerpt?.end])
}

/** By file, then line and column. Objects have no order and keep the reported one. */
function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.origin.kind !== 'file' || b.origin.kind !== 'file') {
    return rank(a) - rank(b)
  }
  if (a.origin.file !== b.origin.file) return a.origin.file < b.origin.file ? -1 : 1
  return a.origin.line - b.origin.line || a.origin.column - b.origin.column
}

function rank({ origin }: Diagnostic): number {
  return origin.kind === 'file' ? 0 : 1
}
