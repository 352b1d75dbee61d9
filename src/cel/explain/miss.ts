import { pathOf } from '../check/path.ts'
import type { Explanation } from './explanation.ts'

/** An atomic sub-expression, and the result that it would have to have. */
export interface Miss {
  readonly atom: Explanation
  readonly wanted: boolean
}

/** How far an expression is from a result. */
export interface Nearness {
  /**
   * The fewest atoms whose result would have to change: where a user should look first. Empty if it
   * already is that result.
   */
  readonly misses: readonly Miss[]
  /** How many of the misses say that it is about another tool, path, model … */
  readonly strays: number
  /** The number of atoms on the way that have the wanted result. */
  readonly hits: number
}

/**
 * What a request is about. A rule about another tool, path or model is further away than any rule
 * about this one, however little it requires.
 */
const SUBJECTS: ReadonlySet<string> = new Set([
  'request.method',
  'request.path',
  'request.host',
  'mcp.methodName',
  'mcp.tool.name',
  'mcp.tool.target',
  'mcp.prompt.name',
  'mcp.prompt.target',
  'mcp.resource.name',
  'mcp.resource.target',
  'llm.requestModel',
  'a2a.method',
])

export function nearness(explanation: Explanation, wanted = true): Nearness {
  const { term, value, parts } = explanation
  switch (term.kind) {
    case 'not':
      return nearness(parts[0] as Explanation, !wanted)
    case 'and':
    case 'or': {
      const all = parts.map((part) => nearness(part, wanted))
      // `and` is true if all operands are, `or` if one is; false is the other way round.
      const needsAll = (term.kind === 'and') === wanted
      return needsAll ? all.reduce(together) : all.reduce(nearer)
    }
    case 'bind':
      return nearness(parts.at(-1) as Explanation, wanted)
    case 'conditional':
      return parts.length === 2
        ? nearness(parts[1] as Explanation, wanted)
        : ofAtom(explanation, wanted)
    default:
      return value === wanted ? HIT : ofAtom(explanation, wanted)
  }
}

/** Returns the nearer of two; the first one in case of a tie. */
export function nearer<T extends Nearness>(a: T, b: T): T {
  const isNearer =
    Math.sign(b.strays) - Math.sign(a.strays) ||
    b.misses.length - a.misses.length ||
    a.hits - b.hits
  return isNearer < 0 ? b : a
}

const HIT: Nearness = { misses: [], strays: 0, hits: 1 }

function ofAtom(atom: Explanation, wanted: boolean): Nearness {
  if (atom.value === wanted) return HIT
  return { misses: [{ atom, wanted }], strays: isOfSubject(atom) ? 1 : 0, hits: 0 }
}

function together(a: Nearness, b: Nearness): Nearness {
  return {
    misses: [...a.misses, ...b.misses],
    strays: a.strays + b.strays,
    hits: a.hits + b.hits,
  }
}

/** `request.path == '/x'`, `mcp.tool.name in ['a', 'b']`, `request.path.startsWith('/x')`. */
function isOfSubject({ parts }: Explanation): boolean {
  return parts.some(({ term }) => SUBJECTS.has(pathOf(term) ?? ''))
}
