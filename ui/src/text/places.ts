import { isCollection, isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from 'yaml'

export type FieldPath = readonly (string | number)[]

/** A span of the text; the end is exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Where the fields of a text are. */
export class TextPlaces {
  readonly #root: Node | null
  readonly #starts: readonly number[]

  constructor(text: string) {
    this.#root = parseDocument(text, { uniqueKeys: false }).contents
    this.#starts = [...text.matchAll(/^/gm)].map(({ index }) => index)
  }

  /** From 1. */
  lineAt(offset: number): number {
    const after = this.#starts.findIndex((start) => start > offset)
    return after === -1 ? this.#starts.length : after
  }

  /** The offset of a line and a column, both from 1. */
  offsetAt(line: number, column: number): number {
    const start = this.#starts[Math.min(line, this.#starts.length) - 1] ?? 0
    return start + column - 1
  }

  /** The key of a field, or the nearest field around it. */
  spanOf(path: FieldPath): Span {
    let node = this.#root
    let span: Span = { from: node?.range?.[0] ?? 0, to: node?.range?.[0] ?? 0 }
    for (const step of path) {
      const [next, key] = stepInto(node, step)
      if (next === undefined) break
      const at = key?.range ?? next?.range
      if (at != null) span = { from: at[0], to: at[1] }
      node = next
    }
    return span
  }

  /** The value of a field, if it is there. */
  valueSpanOf(path: FieldPath): Span | undefined {
    let node = this.#root
    for (const step of path) {
      const [next] = stepInto(node, step)
      if (next == null) return undefined
      node = next
    }
    const { range } = node ?? {}
    return range == null ? undefined : { from: range[0], to: range[1] }
  }

  /** The innermost field at an offset. */
  pathAt(offset: number): FieldPath {
    const path: (string | number)[] = []
    let node = this.#root
    while (isCollection(node)) {
      const found = inside(node, offset)
      if (found === undefined) break
      path.push(found[0])
      node = found[1]
    }
    return path
  }

  /** The path of a field as messages write it: `policies.budgets[0].usd`. */
  pathOfField(field: string): FieldPath {
    const path: (string | number)[] = []
    let node = this.#root
    let rest = field
    while (rest !== '') {
      const index = /^\[(\d+)\]/.exec(rest)
      if (index !== null) {
        const step = Number(index[1])
        path.push(step)
        node = stepInto(node, step)[0] ?? null
        rest = rest.slice(index[0].length)
        continue
      }
      const text = rest.replace(/^\./, '')
      // A key may contain dots: the longest that is there counts.
      const key =
        keysOf(node)
          .filter((one) => text === one || text.startsWith(`${one}.`) || text.startsWith(`${one}[`))
          .sort((a, b) => b.length - a.length)[0] ??
        /^[^.[]+/.exec(text)?.[0] ??
        text
      path.push(key)
      node = stepInto(node, key)[0] ?? null
      rest = text.slice(key.length)
      if (key === '') break
    }
    return path
  }
}

export function nameOfPath(path: FieldPath): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`,
    )
    .join('')
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key)
}

function keysOf(node: Node | null): readonly string[] {
  return isMap(node) ? node.items.map((pair) => keyOf(pair as Pair)) : []
}

function stepInto(
  node: Node | null,
  step: string | number,
): readonly [Node | null | undefined, Node?] {
  if (isSeq(node)) return [(node.items[Number(step)] as Node | undefined) ?? undefined]
  if (!isMap(node)) return [undefined]
  const pair = node.items.find((one) => keyOf(one as Pair) === String(step))
  if (pair === undefined) return [undefined]
  return [pair.value as Node | null, pair.key as Node]
}

/** What contains the offset; what ends there only if nothing begins there. */
function inside(node: Node, offset: number): readonly [string | number, Node | null] | undefined {
  return insideOf(node, offset, 0) ?? insideOf(node, offset, 1)
}

function insideOf(
  node: Node,
  offset: number,
  beyond: number,
): readonly [string | number, Node | null] | undefined {
  const isIn = (one: unknown) => {
    const range = (one as Node | null)?.range
    return range != null && offset >= range[0] && offset < range[1] + beyond
  }
  if (isSeq(node)) {
    const index = node.items.findIndex(isIn)
    return index === -1 ? undefined : [index, node.items[index] as Node | null]
  }
  if (!isMap(node)) return undefined
  const pair = node.items.find(({ key, value }) => isIn(key) || isIn(value)) as Pair | undefined
  return pair === undefined ? undefined : [keyOf(pair), pair.value as Node | null]
}
