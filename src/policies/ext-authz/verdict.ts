import type { JsonObject } from '../../cel/values/value.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { type Header, isFit, isFitName, unwritable } from '../service-headers.ts'

/** The verdict of a service about a request. */
export type Verdict =
  | { readonly kind: 'allowed'; readonly changes: Changes; readonly metadata: JsonObject }
  /** `detail`: the status, for the log and decision records. */
  | { readonly kind: 'denied'; readonly reply: Reply; readonly detail: string }
  /** The service could not be called, or its response is invalid. */
  | { readonly kind: 'failed'; readonly detail: string }

/** Changes to a request that the service admits, and to the response. */
export interface Changes {
  readonly set: readonly Header[]
  readonly add: readonly Header[]
  /** Only if the request has no header of this name. */
  readonly addIfAbsent: readonly Header[]
  /** Only if the request has a header of this name. */
  readonly overwrite: readonly Header[]
  readonly remove: readonly string[]
  readonly responseSet: readonly Header[]
  readonly responseAdd: readonly Header[]
  readonly querySet: readonly Header[]
  readonly queryRemove: readonly string[]
}

export const NO_CHANGES: Changes = {
  set: [],
  add: [],
  addIfAbsent: [],
  overwrite: [],
  remove: [],
  responseSet: [],
  responseAdd: [],
  querySet: [],
  queryRemove: [],
}

/** The first changed header that cannot be sent; headers in `OWN` are ignored. */
export function unwritableHeader(changes: Changes): string | undefined {
  const { set, add, addIfAbsent, overwrite, responseSet, responseAdd } = changes
  const all = [...set, ...add, ...addIfAbsent, ...overwrite, ...responseSet, ...responseAdd]
  return unwritable(all)
}

export function applyChanges(exchange: Exchange, changes: Changes): void {
  if (changes === NO_CHANGES) return
  const { headers } = exchange.request
  const set = [
    ...changes.set,
    ...changes.overwrite.filter(([name]) => headers.get(name) !== undefined),
  ].filter(isFit)
  const absent = changes.addIfAbsent.filter(([name]) => headers.get(name) === undefined)
  const add = [...changes.add, ...absent].filter(isFit)
  exchange.requestEdit = exchange.requestEdit.with(
    headerEdit({
      set: set.map(named),
      add: add.map(named),
      remove: changes.remove.filter(isFitName),
    }),
  )
  const response = headerEdit({
    set: changes.responseSet.filter(isFit).map(named),
    add: changes.responseAdd.filter(isFit).map(named),
  })
  exchange.responseEdit = response.with(exchange.responseEdit)
  changeQuery(exchange, changes)
}

function named([name, value]: Header) {
  return { name, value }
}

function changeQuery(exchange: Exchange, { querySet, queryRemove }: Changes): void {
  if (querySet.length + queryRemove.length === 0) return
  const query = new URLSearchParams(exchange.search)
  for (const name of queryRemove) query.delete(name)
  for (const [name, value] of querySet) query.set(name, value)
  exchange.search = query.size === 0 ? '' : `?${query}`
}

/** A response to the client as the service wrote it, without headers that could inject into it. */
export function denial(status: number, headers: readonly Header[], body: Uint8Array): Reply {
  const fit = headers.filter(isFit)
  const isType = ([name]: Header) => name.toLowerCase() === 'content-type'
  const contentType = fit.find(isType)?.[1] ?? (body.length === 0 ? '' : PLAIN)
  const added = fit.filter((header) => !isType(header))
  return {
    ...reply(status, 'external-authorization'),
    headers: new HeaderEdit([], added),
    body,
    contentType,
  }
}

const PLAIN = 'text/plain; charset=utf-8'
