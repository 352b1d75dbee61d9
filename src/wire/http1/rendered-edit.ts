import type { HeaderEdit } from '../../exchange/header-edit.ts'
import {
  type FieldLines,
  fieldLine,
  joinLines,
  type NameSet,
  NO_LINES,
  nameSet,
} from './field-lines.ts'

export const REQUEST_ID = 'x-request-id'

export interface RenderedEdit {
  readonly dropped: NameSet
  /** The same with the request ID header, unless the edit changes that header. */
  readonly droppedAndId: NameSet
  readonly lines: FieldLines
  /** Whether the edit sets, adds or removes the request ID header. */
  readonly namesId: boolean
}

/**
 * An edit as bytes on the wire; rendered once per edit. Lines that cannot be written are omitted,
 * and the edit says which.
 */
export function renderedEdit(edit: HeaderEdit): RenderedEdit {
  if (edit.rendered !== undefined) return edit.rendered as RenderedEdit
  let lines = NO_LINES
  for (const [name, value] of edit.added) {
    const line = fieldLine(name, value)
    if (line === undefined) edit.lose([name])
    else lines = joinLines(lines, line)
  }
  const names = [...edit.removed, ...edit.added.map(([name]) => name)]
  const namesId = names.some((name) => name.toLowerCase() === REQUEST_ID)
  const dropped = nameSet(edit.removed)
  const droppedAndId = namesId ? dropped : nameSet([...edit.removed, REQUEST_ID])
  const rendered: RenderedEdit = { dropped, droppedAndId, lines, namesId }
  edit.rendered = rendered
  return rendered
}
