import type { Diagnostic, Severity } from './diagnostic.ts'
import { renderOrigin } from './render.ts'
import { visible } from './text-cells.ts'

/** The largest `message` of a Kubernetes condition that an API server accepts: 32 KiB. */
export const MAX_STATUS = 32 * 1024
/** Max size of a condition that we write: enough for the first mistakes, readable in a table. */
export const MAX_CONDITION = 1024

export interface StatusOptions {
  /** The object whose status it is; its name is not repeated before each field. */
  readonly object?: string
  /** In bytes of UTF-8, which are never fewer than the characters that Kubernetes counts. */
  readonly limit?: number
}

/**
 * For Kubernetes status: one line, errors first, never longer than the limit.
 * `spec.traffic.…[0]:1:8: cannot compare an IP address with a string (PC0107; test the range …)`
 */
export function renderStatus(
  diagnostics: readonly Diagnostic[],
  { object, limit = MAX_CONDITION }: StatusOptions = {},
): string {
  const ordered = diagnostics.toSorted((a, b) => RANK[a.severity] - RANK[b.severity])
  const parts = ordered.map((diagnostic) => renderPart(diagnostic, object))
  let line = ''
  for (const [index, part] of parts.entries()) {
    const next = line === '' ? part : `${line}; ${part}`
    const left = parts.length - index
    // Every step but the last must leave room for the note on how many are omitted.
    const tail = left === 1 ? '' : andMore(left - 1)
    if (byteLength(next + tail) > limit) {
      if (line === '') return cut(part, limit - byteLength(tail)) + tail
      return line + andMore(left)
    }
    line = next
  }
  return line
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

function renderPart({ code, message, origin, excerpt, hint }: Diagnostic, object?: string): string {
  const place =
    origin.kind === 'object' && origin.object === object && origin.field !== ''
      ? origin.field
      : renderOrigin(origin)
  const inside = excerpt === undefined || origin.kind === 'file' ? '' : placeInside(excerpt)
  const way = hint === undefined ? '' : `; ${hint}`
  return visible(`${place}${inside}: ${message} (${code}${way})`)
}

/** Line and column within the field's text, counted like those of files: from 1, in code points. */
function placeInside({ text, start }: { readonly text: string; readonly start: number }): string {
  const lines = text.slice(0, start).split(/\r\n|\n|\r/)
  return `:${lines.length}:${[...(lines.at(-1) ?? '')].length + 1}`
}

function andMore(count: number): string {
  return `; and ${count} more`
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}

/** At most `limit` bytes, cut between characters, with an ellipsis. */
function cut(text: string, limit: number): string {
  if (byteLength(text) <= limit) return text
  let kept = ''
  let bytes = byteLength('…')
  for (const character of text) {
    bytes += byteLength(character)
    if (bytes > limit) break
    kept += character
  }
  return `${kept}…`
}
