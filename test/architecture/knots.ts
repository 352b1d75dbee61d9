import { importsOf } from './imports.ts'
import { isTest, type Rule, type SourceFile } from './rule.ts'

/** Max files that can be understood only together, types included. */
const MAX_FILES = 3

/**
 * Groups of files in which each file reaches every other by imports, type imports included, stay
 * small: a reader of one file has to read them all.
 */
export const keepsKnotsSmall: Rule = (files) =>
  knotsOf(graphOf(files))
    .filter((knot) => knot.length > MAX_FILES)
    .map((knot) => {
      const [path = '', ...others] = knot.toSorted()
      const message = `is tied up with ${others.join(', ')}: more than ${MAX_FILES} files`
      return { path, line: 1, message }
    })

type Graph = ReadonlyMap<string, readonly string[]>

function graphOf(files: readonly SourceFile[]): Graph {
  const product = files.filter(({ path }) => path.startsWith('src/') && !isTest(path))
  const targets = (file: SourceFile) => importsOf(file).flatMap(({ target }) => target ?? [])
  return new Map(product.map((file) => [file.path, targets(file)]))
}

/** The strongly connected components, after Tarjan. */
function knotsOf(graph: Graph): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const knots: string[][] = []
  const visit = (path: string): number => {
    order.set(path, order.size)
    let low = order.size - 1
    lowest.set(path, low)
    stack.push(path)
    for (const target of graph.get(path) ?? []) {
      if (!graph.has(target)) continue
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (stack.includes(target)) low = Math.min(low, lowest.get(target) ?? low)
      lowest.set(path, low)
    }
    if (low === order.get(path)) knots.push(stack.splice(stack.indexOf(path)))
    return low
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return knots
}
