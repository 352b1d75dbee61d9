/** The object that a path below one of a provider's collections refers to. */
export interface StatePath {
  readonly collection: string
  /** As the client wrote them, in order: the ID of the resource, and of an item inside it. */
  readonly ids: readonly string[]
  /** Returns the path below the provider's base path, with the provider's IDs. */
  pathWith(ids: readonly string[]): string
}

const STATE_PATH = /^.*\/(responses|conversations|containers)(?:\/(.*))?$/i

/** Segments after an ID; all except `files` of containers end the path or precede another ID. */
const ITEM_LISTS: ReadonlySet<string> = new Set(['items', 'files'])
const ACTIONS: ReadonlySet<string> = new Set(['cancel', 'input_items', 'content'])

/** Returns undefined if the path is not of this kind, 'unknown' if it is but cannot be parsed. */
export function readStatePath(method: string, path: string): StatePath | 'unknown' | undefined {
  const [, name = '', rest = ''] = STATE_PATH.exec(path) ?? []
  // A server may decode encoded path separators.
  if (name === '') return STATE_PATH.test(decoded(path)) ? 'unknown' : undefined
  const collection = name.toLowerCase()
  const [id = '', list = '', item = '', action = '', ...more] = rest.split('/')
  if (name !== collection || more.length > 0) return 'unknown'
  if (id === '') {
    const isMade = method === 'POST' && rest === '' && !path.endsWith('/')
    return isMade && collection !== 'responses' ? pathOf(collection, [], () => '') : 'unknown'
  }
  if (list === '') return rest === id ? pathOf(collection, [id], ([own]) => `/${own}`) : 'unknown'
  if (item === '' && rest === `${id}/${list}`) {
    if (!ITEM_LISTS.has(list) && !ACTIONS.has(list)) return 'unknown'
    return pathOf(collection, [id], ([own]) => `/${own}/${list}`)
  }
  if (item === '' || !ITEM_LISTS.has(list)) return 'unknown'
  const end = action === '' ? '' : `/${action}`
  if (end !== '' && action !== 'content') return 'unknown'
  // A file is not separate state: a client with access to the container has access to its files.
  if (list === 'files') return pathOf(collection, [id], ([own]) => `/${own}/files/${item}${end}`)
  return end === ''
    ? pathOf(collection, [id, item], ([own, inner]) => `/${own}/items/${inner}`)
    : 'unknown'
}

function pathOf(
  collection: string,
  ids: readonly string[],
  below: (ids: readonly string[]) => string,
): StatePath {
  return {
    collection,
    ids,
    pathWith: (own) => `/${collection}${below(own.map(encodeURIComponent))}`,
  }
}

function decoded(path: string): string {
  return path.replace(/%(?:2f|5c)/gi, '/')
}
