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
  /** The same, and the header with the id of a request, unless the edit is about that. */
  readonly droppedAndId: NameSet
  readonly lines: FieldLines
  /** Whether it sets, adds or removes the header with the id of a request. */
  readonly namesId: boolean
}

/** What an edit is on the wire; made once for each edit. What cannot be written is left out. */
export function renderedEdit(edit: HeaderEdit): RenderedEdit {
  if (edit.rendered !== undefined) return edit.rendered as RenderedEdit
  let lines = NO_LINES
  for (const [name, value] of edit.added)
    lines = joinLines(lines, fieldLine(name, value) ?? NO_LINES)
  const names = [...edit.removed, ...edit.added.map(([name]) => name)]
  const namesId = names.some((name) => name.toLowerCase() === REQUEST_ID)
  const dropped = nameSet(edit.removed)
  const droppedAndId = namesId ? dropped : nameSet([...edit.removed, REQUEST_ID])
  const rendered: RenderedEdit = { dropped, droppedAndId, lines, namesId }
  edit.rendered = rendered
  return rendered
}
