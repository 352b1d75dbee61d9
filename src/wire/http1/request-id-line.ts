// HOT PATH: one line more for each request and each response. Guarded by bench/proxy.ts.

import type { RequestId } from '../../telemetry/request-id.ts'
import { type FieldLines, joinLines, type NameSet, requestIdLine } from './field-lines.ts'
import type { RenderedEdit } from './rendered-edit.ts'

/**
 * The lines that are added to a message, with the id of the request: the client, the backend, the
 * log and the records have the same. What a policy says of the header stays.
 */
export function linesWithId({ lines, namesId }: RenderedEdit, id: RequestId): FieldLines {
  return namesId || id === '' ? lines : joinLines(lines, requestIdLine(id))
}

/** Names of what is not copied: the header that somebody else wrote must not stand beside ours. */
export function droppedWithId({ dropped, droppedAndId }: RenderedEdit, id: RequestId): NameSet {
  return id === '' ? dropped : droppedAndId
}
