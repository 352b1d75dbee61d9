// HOT PATH: one line more for each request that is sent on. Guarded by bench/proxy.ts.

import { type FieldLines, joinLines, requestIdLine } from './field-lines.ts'
import { type Fields, findField } from './fields.ts'
import type { RenderedEdit } from './rendered-edit.ts'

/**
 * The lines that are added to a request, with its id, so that the records of the backend can be
 * found by it. One that came with the request stays, and so does what a policy says of it.
 */
export function linesWithId(
  { lines, namesId }: RenderedEdit,
  fields: Fields,
  id: string,
): FieldLines {
  if (namesId || id === '' || findField(fields, 'x-request-id') >= 0) return lines
  return joinLines(lines, requestIdLine(id))
}
