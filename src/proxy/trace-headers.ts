import { HeaderEdit } from '../exchange/header-edit.ts'
import {
  type FieldLines,
  fieldLine,
  joinLines,
  NO_LINES,
  nameSet,
} from '../wire/http1/field-lines.ts'
import { REQUEST_ID, type RenderedEdit, renderedEdit } from '../wire/http1/rendered-edit.ts'

const NAMES: readonly string[] = ['traceparent', 'tracestate']

/** The same part of all requests with the same edit; null if a policy sets the header itself. */
const bases = new WeakMap<HeaderEdit, RenderedEdit | null>()

/**
 * An edit that also adds the trace. The underlying edit, usually one for all requests of a route,
 * is not rendered again.
 */
export function withTrace(edit: HeaderEdit, traceparent: string, tracestate: string): HeaderEdit {
  let base = bases.get(edit)
  if (base === undefined) {
    base = baseOf(edit)
    bases.set(edit, base)
  }
  if (base === null) return edit
  const added: (readonly [string, string])[] = [...edit.added, ['traceparent', traceparent]]
  let lines = joinLines(base.lines, line('traceparent', traceparent))
  if (tracestate !== '') {
    added.push(['tracestate', tracestate])
    lines = joinLines(lines, line('tracestate', tracestate))
  }
  const traced = new HeaderEdit(base.dropped.names, added)
  traced.lose(edit.unwritten)
  traced.rendered = { ...base, lines } satisfies RenderedEdit
  return traced
}

/** An edit that sends no trace, unless a policy sets one itself. */
export function withoutTrace(edit: HeaderEdit): HeaderEdit {
  let known = bare.get(edit)
  if (known === undefined) {
    known = new HeaderEdit([...edit.removed, ...NAMES], edit.added).lose(edit.unwritten)
    bare.set(edit, known)
  }
  return known
}

const bare = new WeakMap<HeaderEdit, HeaderEdit>()

function baseOf(edit: HeaderEdit): RenderedEdit | null {
  if (edit.added.some(([name]) => name.toLowerCase() === 'traceparent')) return null
  const rendered = renderedEdit(edit)
  const dropped = nameSet([...edit.removed, ...NAMES])
  if (rendered.namesId) return { ...rendered, dropped, droppedAndId: dropped }
  return { ...rendered, dropped, droppedAndId: nameSet([...dropped.names, REQUEST_ID]) }
}

function line(name: string, value: string): FieldLines {
  return fieldLine(name, value) ?? NO_LINES
}
