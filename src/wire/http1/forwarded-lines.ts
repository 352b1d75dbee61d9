// HOT PATH: headers about the client in each request to a backend. Guarded by bench/proxy.ts.

import { Buffer } from 'node:buffer'
import type { Exchange } from '../../exchange/exchange.ts'
import {
  FORWARDED_NAMES,
  type ForwardedHeaders,
  NOTHING_FORWARDED,
} from '../../exchange/forwarded-headers.ts'
import type { HeaderEdit } from '../../exchange/header-edit.ts'
import { type FieldLines, fieldLine, isOfSet, joinLines, NO_LINES, nameSet } from './field-lines.ts'
import { REPLACED } from './field-names.ts'
import type { Fields } from './fields.ts'
import { renderedEdit } from './rendered-edit.ts'
import { linesWithId } from './request-id-line.ts'

/** The lines that are added to a request for a backend. */
export function requestLines(edit: HeaderEdit, { forwarded, request }: Exchange): FieldLines {
  const lines = linesWithId(renderedEdit(edit), request.id)
  if (forwarded === undefined || forwarded === NOTHING_FORWARDED) return lines
  return joinLines(linesOf(forwarded, edit), lines)
}

const REPLACED_NAMES = nameSet(FORWARDED_NAMES)

/** What the client sent under these names is not copied; rules still see it. */
export function replaceForwarded(fields: Fields): void {
  for (let i = 0; i < fields.count; i++)
    if (isOfSet(REPLACED_NAMES, fields, i)) fields.kinds[i] = REPLACED
}

/** Rendered once for a connection, unless a policy writes one of these headers itself. */
function linesOf(forwarded: ForwardedHeaders, edit: HeaderEdit): FieldLines {
  const added = edit.removed.length === 0 ? forwarded.added : forwarded.besides(edit.removed)
  if (added.length < forwarded.added.length) return render(added)
  forwarded.rendered ??= flat(render(added))
  return forwarded.rendered as FieldLines
}

/** In one piece: a string of many parts is walked each time that a head with it is written. */
function flat(lines: FieldLines): FieldLines {
  return Buffer.from(lines, 'latin1').toString('latin1') as FieldLines
}

function render(added: ForwardedHeaders['added']): FieldLines {
  let lines = NO_LINES
  for (const [name, value] of added) lines = joinLines(lines, fieldLine(name, value) ?? NO_LINES)
  return lines
}
