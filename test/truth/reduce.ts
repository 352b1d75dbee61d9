import { isTree, type Json, type Path, type Tree, walk, withValue } from './document.ts'
import type { CheckName } from './judge.ts'
import { type Judged, type JudgeOptions, judgeTrees, type Trees } from './judge.ts'
import { withoutRule } from './mutate.ts'
import type { FalseClaim } from './pair.ts'

export interface Reduced {
  readonly trees: Trees
  readonly claim: FalseClaim
}

const MAX_TRIES = 100

/** A smaller pair with a false claim of the same kind. */
export async function reduce(
  judged: Judged,
  kind: string,
  options: JudgeOptions,
): Promise<Reduced> {
  const own = (claims: readonly FalseClaim[]) => claims.find((one) => one.kind === kind)
  const first = own(judged.claims) as FalseClaim
  const [word = ''] = kind.split(' ')
  const only = [(kind === 'lint fix' ? 'fix' : word) as CheckName]
  let best: Reduced = { trees: judged.trees, claim: first }
  let tries = 0
  const attempt = async (trees: Trees): Promise<boolean> => {
    if (++tries > MAX_TRIES) return false
    // Other files lead to other probes: a second seed finds claims that the first one misses.
    for (const seed of [judged.seed, judged.seed + 1]) {
      const claim = own(await claimsOf(seed, trees, { ...options, count: () => {}, only }))
      // A route without a backend is a different problem.
      if (claim === undefined || claim.observed.includes('500')) continue
      best = { trees, claim }
      return true
    }
    return false
  }
  for (let isSmaller = true; isSmaller && tries < MAX_TRIES; ) {
    isSmaller = false
    for (const trees of smaller(best.trees)) {
      if (tries >= MAX_TRIES) break
      if (await attempt(trees)) {
        isSmaller = true
        break
      }
    }
  }
  return best
}

/** A file that was cut may be invalid. */
async function claimsOf(
  seed: number,
  trees: Trees,
  options: JudgeOptions,
): Promise<readonly FalseClaim[]> {
  try {
    return (await judgeTrees(seed, trees, options)).claims
  } catch {
    return []
  }
}

/** Each without one part, the biggest parts first. */
function* smaller({ old, now }: Trees): Generator<Trees> {
  if (JSON.stringify(old) !== JSON.stringify(now)) {
    yield { old, now: old }
    yield { old: now, now }
  }
  for (const [path, value] of walk(old)) {
    if (path.length === 0 || path[0] === 'config') continue
    const isBoth = JSON.stringify(valueAt(now, path)) === JSON.stringify(value)
    for (const cut of cuts(old, path, value)) {
      const own = cut(old)
      if (own === undefined) continue
      yield { old: own, now: isBoth ? (cut(now) ?? now) : now }
    }
  }
  for (const [path, value] of walk(now)) {
    if (path.length === 0 || path[0] === 'config') continue
    if (JSON.stringify(valueAt(old, path)) === JSON.stringify(value)) continue
    for (const cut of cuts(now, path, value)) {
      const own = cut(now)
      if (own !== undefined) yield { old, now: own }
    }
  }
}

type Cut = (tree: Tree) => Tree | undefined

const NEEDED: ReadonlySet<unknown> = new Set([
  'port',
  'backend',
  'name',
  'gateways',
  'routes',
  'action',
  'host',
  'issuer',
  'jwks',
  'file',
  'cert',
  'key',
  'status',
  'location',
  'keys',
])

function* cuts(tree: Tree, path: Path, value: Json): Generator<Cut> {
  const last = path.at(-1)
  const isRule =
    typeof value === 'string' && (path.at(-3) === 'rules' || path.at(-2) === 'matchExpressions')
  if (isRule) {
    yield (own) => (valueAt(own, path) === value ? withoutRule(own, path) : undefined)
    for (const part of partsOf(value)) {
      yield (own) => (valueAt(own, path) === value ? withValue(own, path, part) : undefined)
    }
    return
  }
  if (path.at(-2) === 'rules' || NEEDED.has(last) || path.at(-2) === 'backends') return
  // Without backends a route responds with 500, which is a different problem.
  if (last === 'backends' && path[0] !== 'backends') return
  if (last === 'directResponse') return
  const parent = valueAt(tree, path.slice(0, -1))
  if (Array.isArray(parent) && parent.length === 1) return
  yield (own) => {
    if (valueAt(own, path) === undefined) return undefined
    const next = withValue(own, path, undefined)
    const around = valueAt(next, path.slice(0, -1))
    const isBare = isTree(around) && Object.keys(around).length === 0
    return isBare && path.length > 1 ? withValue(next, path.slice(0, -1), undefined) : next
  }
}

function valueAt(tree: Tree, path: Path): Json | undefined {
  let value: Json | undefined = tree
  for (const step of path) {
    if (value === null || typeof value !== 'object') return undefined
    value = (value as Readonly<Record<string | number, Json>>)[step]
  }
  return value
}

/** The operands of operators outside brackets, and the content of brackets. */
export function partsOf(text: string): readonly string[] {
  const found: string[] = []
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (char === "'") isQuoted = !isQuoted
    if (isQuoted) continue
    if ('([{'.includes(char)) depth++
    if (')]}'.includes(char)) depth--
    const operator = text.slice(at, at + 4)
    if (depth === 0 && (operator === ' && ' || operator === ' || ')) {
      found.push(text.slice(0, at), text.slice(at + 4))
    }
  }
  const inner = /^!?\((.*)\)$/s.exec(text)?.[1]
  if (found.length === 0 && inner !== undefined) found.push(inner)
  return found
}
