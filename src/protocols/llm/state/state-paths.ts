/** What is named by a path below one of the collections that a provider keeps for its clients. */
export interface StatePath {
  readonly collection: string
  /** As the client wrote them, in order: of the resource, and of an item inside of it. */
  readonly ids: readonly string[]
  /** The path below the provider's base path, with the ids as the provider calls them. */
  pathWith(ids: readonly string[]): string
}

const STATE_PATH = /^.*\/(responses|conversations|containers)(?:\/(.*))?$/i

/** Words after an id; each but `files` of containers is followed by nothing or by another id. */
const ITEM_LISTS: ReadonlySet<string> = new Set(['items', 'files'])
const ACTIONS: ReadonlySet<string> = new Set(['cancel', 'input_items', 'content'])

/** Undefined: the path names nothing of the kind. 'unknown': it does, in a way that is not known. */
export function readStatePath(method: string, path: string): StatePath | 'unknown' | undefined {
  const [, name = '', rest = ''] = STATE_PATH.exec(path) ?? []
  // A server may decode what separates the parts of a path.
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
  // A file is no state of its own: whoever may name the container may name what is in it.
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
