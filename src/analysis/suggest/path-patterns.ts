/** Paths of one form: segments, with `undefined` for any segment. */
export type PathPattern = readonly (string | undefined)[]

/** More different names than this at one position are treated as values. */
const MAX_NAMES = 8
/** Digits, UUIDs and digests: two of these at one position are already treated as values. */
const VALUE = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,})$/i

interface Node {
  readonly children: Map<string, Node>
  /** Whether a path ends here. */
  isEnd: boolean
}

/** The fewest patterns for these paths. Where names vary a lot, the pattern matches any name. */
export function patternsOf(paths: Iterable<string>): readonly PathPattern[] {
  const root = emptyNode()
  for (const path of paths) {
    let node = root
    for (const segment of path.split('/')) {
      const next = node.children.get(segment) ?? emptyNode()
      node.children.set(segment, next)
      node = next
    }
    node.isEnd = true
  }
  return [...patternsBelow(root)]
}

function* patternsBelow(node: Node): Generator<PathPattern> {
  if (node.isEnd) yield []
  const named = [...node.children].filter(([name]) => name !== '')
  const values = named.filter(([name]) => VALUE.test(name))
  const isMany = named.length > MAX_NAMES
  const varying = isMany ? named : values.length > 1 ? values : []
  if (varying.length > 0) {
    const merged = emptyNode()
    for (const [, child] of varying) mergeInto(merged, child)
    for (const rest of patternsBelow(merged)) yield [undefined, ...rest]
  }
  const taken = new Set(varying.map(([name]) => name))
  for (const [name, child] of node.children) {
    if (taken.has(name)) continue
    for (const rest of patternsBelow(child)) yield [name, ...rest]
  }
}

function mergeInto(into: Node, from: Node): void {
  into.isEnd ||= from.isEnd
  for (const [name, child] of from.children) {
    const known = into.children.get(name) ?? emptyNode()
    into.children.set(name, known)
    mergeInto(known, child)
  }
}

function emptyNode(): Node {
  return { children: new Map(), isEnd: false }
}

export function isOf(pattern: PathPattern, path: string): boolean {
  const segments = path.split('/')
  return (
    segments.length === pattern.length &&
    pattern.every((wanted, at) =>
      wanted === undefined ? segments[at] !== '' : segments[at] === wanted,
    )
  )
}
