import { corpusOf, type Entry, recordFind } from '../corpus/corpus.ts'
import type { Stored } from '../corpus/values.ts'
import { isTree, type Json, type Tree } from './document.ts'
import type { Place } from './generate.ts'
import { CHECKS, type CheckName, type Trees } from './judge.ts'
import type { FalseClaim } from './pair.ts'

/** A pair of files about which a command made a false statement, as the corpus has it. */
export interface StoredPair {
  readonly note: string
  /** Draws the probes. */
  readonly seed: number
  readonly trees: Trees
  /** Undefined: all of them. */
  readonly check: CheckName | undefined
}

const NAME = 'truth'

export function storedPairs(place: Place): readonly StoredPair[] {
  return corpusOf(NAME).map(({ note, input = [] }: Entry) => {
    const [seed, check, old, now] = input as unknown as [number, CheckName | null, Tree, Tree]
    const trees = { old: atPlace(old, place) as Tree, now: atPlace(now, place) as Tree }
    return { note, seed, trees, check: check ?? undefined }
  })
}

export function recordPair(seed: number, { old, now }: Trees, claim: FalseClaim, place: Place) {
  const [check = ''] = claim.kind.split(' ')
  const known = Object.hasOwn(CHECKS, check) ? check : null
  const input = [seed, known, fromPlace(old, place), fromPlace(now, place)] as Stored[]
  recordFind({ name: NAME, entry: { note: claim.claim, input }, error: claim.observed })
}

/** Ports differ in each run: in the corpus they have names. */
function fromPlace(value: Json, { ports, backends }: Place): Json {
  return mapped(value, (leaf) => {
    if (typeof leaf === 'number' && ports.includes(leaf)) return `port ${ports.indexOf(leaf)}`
    if (typeof leaf !== 'string') return leaf
    return backends.reduce(
      (text, port, n) => text.replace(`127.0.0.1:${port}`, `backend ${n}`),
      leaf,
    )
  })
}

function atPlace(value: Json, { ports, backends }: Place): Json {
  return mapped(value, (leaf) => {
    if (typeof leaf !== 'string') return leaf
    const [, port] = /^port (\d+)$/.exec(leaf) ?? []
    if (port !== undefined) return ports[Number(port)] as number
    return leaf.replace(/backend (\d+)/, (_, n) => `127.0.0.1:${backends[Number(n)]}`)
  })
}

function mapped(value: Json, leaf: (own: Json) => Json): Json {
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf))
  if (!isTree(value)) return leaf(value)
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, mapped(own, leaf)]))
}
