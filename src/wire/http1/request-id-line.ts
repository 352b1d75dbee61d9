// HOT PATH: one more line for each request and each response. Guarded by bench/proxy.ts.

import type { RequestId } from '../../telemetry/request-id.ts'
import { type FieldLines, joinLines, type NameSet, requestIdLine } from './field-lines.ts'
import type { RenderedEdit } from './rendered-edit.ts'

/**
 * The added lines of a message, with the request ID: the client, the backend, the log and the
 * records share it. Edits of that header by a policy take precedence.
 */
export function linesWithId({ lines, namesId }: RenderedEdit, id: RequestId): FieldLines {
  return namesId || id === '' ? lines : joinLines(lines, requestIdLine(id))
}

/** The names that are not copied: another sender's header must not appear beside ours. */
export function droppedWithId({ dropped, droppedAndId }: RenderedEdit, id: RequestId): NameSet {
  return id === '' ? dropped : droppedAndId
}
