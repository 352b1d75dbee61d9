import type { Term } from '../check/term.ts'
import type { Evaluate, Predicate, Variables } from '../emit/functions.ts'
import type { Cidr } from '../values/cidr.ts'
import type { Value } from '../values/value.ts'
import { isTested, testAtom } from './atom-tests.ts'
import { type Atom, atomOf, conjunction, operands, type Subject } from './atoms.ts'
import { FlatEqualLookup, FlatPrefixLookup, MAX_LENGTHS } from './flat-lookups.ts'
import { type FlatBucket, FlatTable, MAX_TEXT } from './flat-table.ts'
import {
  type Bucket,
  CidrLookup,
  ElementLookup,
  EqualLookup,
  type Matcher,
  PrefixLookup,
  type Remainder,
  remain,
} from './lookups.ts'

/** One way for a rule to match: all of `conjuncts` are definitely true. */
export interface Alternative {
  readonly rule: number
  readonly conjuncts: readonly Conjunct[]
}

/** A part of a rule; an atom that is the whole rule needs no term. */
interface Conjunct {
  readonly term: Term | undefined
  readonly atom: Atom | undefined
}

/** Compiles what the index does not cover. */
export interface Emit {
  /** A predicate for the conjuncts of a rule, or for the whole rule. */
  predicate(term: Term | undefined, rule: number): Predicate
  read(subject: Subject): Evaluate
  /** Lookups of at least this many strings use flat tables. */
  readonly flatFrom: number
}

export interface Counts {
  indexed: number
  linear: number
}

/** Fewer alternatives than this are tested one by one: a lookup would cost as much. */
const WORTH_INDEXING = 3

/** Splits `a || b` into alternatives and each into conjuncts, retaining no more than necessary. */
export function alternatives(
  rule: number,
  term: Term,
  subjects: Map<string, Subject>,
): readonly Alternative[] {
  const parts = operands(term, 'or')
  return parts.map((part) => {
    const terms = operands(part, 'and')
    const isWhole = parts.length === 1 && terms.length === 1
    const conjuncts = terms.map((own) => {
      const atom = shared(atomOf(own), subjects)
      return { atom, term: isWhole && atom !== undefined ? undefined : own }
    })
    return { rule, conjuncts }
  })
}

/** The same atom with the first subject of that path, so that the others can be released. */
function shared(atom: Atom | undefined, subjects: Map<string, Subject>): Atom | undefined {
  if (atom === undefined) return undefined
  const { kind, subject, keys } = atom
  const known = subjects.get(subject.path)
  if (known !== undefined) return { kind, subject: known, keys }
  subjects.set(subject.path, subject)
  return atom
}

/**
 * A literal is a slice of its rule's source, which V8 reads through two more objects. A copy is a
 * separate string, created along with its bucket, so that the two are adjacent in memory. With many
 * rules this saves a few cache misses.
 */
function ownCopy(key: Value): Value {
  return typeof key === 'string' ? (JSON.parse(JSON.stringify(key)) as string) : key
}

/** A matcher for "any of these is true": lookups for common parts, then the rest. */
export function compileAny(all: readonly Alternative[], emit: Emit, counts?: Counts): Matcher {
  const others: Alternative[] = []
  if (all.length < WORTH_INDEXING) others.push(...all)
  const groups = others.length > 0 ? [] : choose(all, others)
  const lookups: Matcher[] = []
  for (const { atom, members } of groups) {
    if (members.length < WORTH_INDEXING) {
      for (const { alternative } of members) others.push(alternative)
      continue
    }
    lookups.push(lookup(atom, members, emit))
    if (counts !== undefined) counts.indexed += members.length
  }
  if (counts !== undefined) counts.linear += others.length
  return join(
    lookups,
    others.map((alternative) => linear(alternative, emit)),
  )
}

interface Member {
  readonly alternative: Alternative
  readonly atom: Atom
  /** The conjuncts left to test after the lookup. */
  readonly left: readonly Conjunct[]
}

/** The conjuncts of one kind over one attribute, which one lookup can decide. */
interface Group {
  readonly atom: Atom
  /** How many alternatives have a conjunct with this key. */
  readonly keys: Map<Value, number>
  total: number
  readonly members: Member[]
}

/**
 * Puts each alternative into the group of the conjunct that leaves the smallest bucket, else into
 * `others`. In case of a tie, the cheaper lookup wins, then the one that more alternatives share.
 */
function choose(all: readonly Alternative[], others: Alternative[]): readonly Group[] {
  const groups = {
    equal: new Map(),
    element: new Map(),
    cidr: new Map(),
    prefix: new Map(),
  } as Groups
  for (const { conjuncts } of all) {
    for (const { atom } of conjuncts) if (atom !== undefined) count(groupOf(atom, groups), atom)
  }
  for (const alternative of all) {
    const { conjuncts } = alternative
    const at = smallest(conjuncts, groups)
    const atom = conjuncts[at]?.atom
    if (atom === undefined) others.push(alternative)
    else {
      const left = conjuncts.length === 1 ? NOTHING_LEFT : conjuncts.filter((_, i) => i !== at)
      groupOf(atom, groups).members.push({ alternative, atom, left })
    }
  }
  return Object.values(groups).flatMap((byPath) => [...byPath.values()])
}

const NOTHING_LEFT: readonly Conjunct[] = []

type Groups = Record<Atom['kind'], Map<string, Group>>

function groupOf(atom: Atom, groups: Groups): Group {
  const byPath = groups[atom.kind]
  const known = byPath.get(atom.subject.path)
  if (known !== undefined) return known
  const made: Group = { atom, keys: new Map(), total: 0, members: [] }
  byPath.set(atom.subject.path, made)
  return made
}

function count(group: Group, atom: Atom): void {
  group.total++
  for (const key of atom.keys) {
    const id = keyId(key)
    group.keys.set(id, (group.keys.get(id) ?? 0) + 1)
  }
}

const CHEAPEST_FIRST = { equal: 0, element: 1, cidr: 2, prefix: 3 } as const

/** The index of the conjunct to look up, or -1. */
function smallest(conjuncts: readonly Conjunct[], groups: Groups): number {
  if (conjuncts.length === 1) return conjuncts[0]?.atom === undefined ? -1 : 0
  let best = -1
  let bestRank: readonly [size: number, cost: number, shared: number] = [0, 0, 0]
  for (const [at, { atom }] of conjuncts.entries()) {
    if (atom === undefined) continue
    const group = groupOf(atom, groups)
    const size = Math.max(0, ...atom.keys.map((key) => group.keys.get(keyId(key)) ?? 0))
    const rank = [size, CHEAPEST_FIRST[atom.kind], -group.total] as const
    if (best < 0 || isLess(rank, bestRank)) {
      best = at
      bestRank = rank
    }
  }
  return best
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, i) => value !== b[i])
  return at >= 0 && (a[at] as number) < (b[at] as number)
}

/** Networks that are written the same, or that differ only in host bits, share one key. */
function keyId(key: Value): Value {
  if (typeof key !== 'object' || key === null) return key
  const { ip, prefixLength, m3 } = key as Cidr
  return ip.family === 4
    ? prefixLength * 2 ** 32 + ((ip.w3 & m3) >>> 0)
    : (key as Cidr).masked().text
}

const LOOKUPS = {
  equal: EqualLookup,
  element: ElementLookup,
  prefix: PrefixLookup,
  cidr: CidrLookup,
}

function lookup(atom: Atom, members: readonly Member[], emit: Emit): Matcher {
  const byKey = new Map<Value, Member | Member[]>()
  for (const member of members) {
    for (const key of member.atom.keys) {
      const id = keyId(key)
      const known = byKey.get(id)
      if (known === undefined) byKey.set(id, member)
      else if (Array.isArray(known)) known.push(member)
      else byKey.set(id, [known, member])
    }
  }
  const remainder = remainderOf(byKey.values(), emit)
  const flat = byKey.size < emit.flatFrom ? undefined : flatLookup(atom, byKey, remainder, emit)
  if (flat !== undefined) return flat
  const buckets = new Map<Value, Bucket>()
  for (const [id, own] of byKey) {
    const first = Array.isArray(own) ? (own[0] as Member) : own
    const key = ownCopy(first.atom.keys.find((each) => keyId(each) === id) as Value)
    buckets.set(key, Array.isArray(own) ? bucket(own, emit) : single(own, remainder, emit))
  }
  return new LOOKUPS[atom.kind](emit.read(atom.subject), buckets, remainder?.columns)
}

/** `undefined` if keys are not strings or are too long; for elements, a Map is as fast. */
function flatLookup(
  { kind, subject }: Atom,
  byKey: ReadonlyMap<Value, Member | Member[]>,
  shared: SharedRemainder | undefined,
  emit: Emit,
): Matcher | undefined {
  if (kind !== 'equal' && kind !== 'prefix') return undefined
  const lengths = new Set<number>()
  for (const key of byKey.keys()) {
    if (typeof key !== 'string' || key.length > MAX_TEXT) return undefined
    lengths.add(key.length)
  }
  if (kind === 'prefix' && lengths.size > MAX_LENGTHS) return undefined
  const test =
    shared === undefined ? undefined : { kind: shared.columns.kind, read: shared.columns.read }
  const table = new FlatTable(flatBuckets(byKey, shared, emit), test)
  const read = emit.read(subject)
  if (kind === 'equal') return new FlatEqualLookup(read, table)
  return new FlatPrefixLookup(
    read,
    table,
    [...lengths].sort((a, b) => a - b),
  )
}

function* flatBuckets(
  byKey: ReadonlyMap<Value, Member | Member[]>,
  shared: SharedRemainder | undefined,
  emit: Emit,
): Generator<readonly [string, FlatBucket]> {
  for (const [key, own] of byKey as ReadonlyMap<string, Member | Member[]>) {
    yield [key, Array.isArray(own) ? flatBucket(bucket(own, emit)) : flatSingle(own, shared, emit)]
  }
}

function flatSingle(member: Member, shared: SharedRemainder | undefined, emit: Emit): FlatBucket {
  const { rule } = member.alternative
  const text = sharedKey(member, shared)
  if (typeof text === 'string' && text.length <= MAX_TEXT) return { rule, text }
  return flatBucket(rest({ rule, conjuncts: member.left }, emit))
}

function flatBucket(bucket: Bucket): FlatBucket {
  return typeof bucket === 'number' ? { rule: bucket, text: undefined } : bucket
}

interface SharedRemainder {
  readonly columns: Remainder
  readonly subject: Subject
}

/** Based on the first rule with one more test, of a kind that columns can store. */
function remainderOf(all: Iterable<Member | Member[]>, emit: Emit): SharedRemainder | undefined {
  for (const own of all) {
    const atom = Array.isArray(own) ? undefined : onlyAtom(own)
    if (atom === undefined) continue
    const { kind, subject } = atom
    const columns: Remainder = { kind, read: emit.read(subject), keys: [], rules: [] }
    return { columns, subject }
  }
  return undefined
}

function onlyAtom({ left }: Member): (Atom & { readonly kind: Remainder['kind'] }) | undefined {
  const atom = left.length === 1 ? left[0]?.atom : undefined
  if (atom === undefined || !isTested(atom)) return undefined
  return atom.kind === 'equal' || atom.kind === 'prefix' ? { ...atom, kind: atom.kind } : undefined
}

function bucket(members: readonly Member[], emit: Emit): Bucket {
  const done = members.find((member) => member.left.length === 0)
  if (done !== undefined) return done.alternative.rule
  const left = members.map(({ alternative, left: conjuncts }) => ({
    rule: alternative.rule,
    conjuncts,
  }))
  return compileAny(left, emit)
}

function single(member: Member, shared: SharedRemainder | undefined, emit: Emit): Bucket {
  const { rule } = member.alternative
  const key = sharedKey(member, shared)
  if (shared !== undefined && key !== undefined) return remain(shared.columns, rule, ownCopy(key))
  return rest({ rule, conjuncts: member.left }, emit)
}

/** The key that the remainder compares for this rule; `undefined` if anything else is left. */
function sharedKey(member: Member, shared: SharedRemainder | undefined): Value | undefined {
  const atom = onlyAtom(member)
  if (shared === undefined || atom === undefined) return undefined
  const isShared = atom.kind === shared.columns.kind && atom.subject === shared.subject
  return isShared ? atom.keys[0] : undefined
}

/** Tests atoms first, a few loads each, then what requires a separate function. */
function rest({ rule, conjuncts }: Alternative, emit: Emit): Bucket {
  const others = conjuncts.filter(({ atom }) => atom === undefined || !isTested(atom))
  let bucket: Bucket = rule
  if (others.length > 0) {
    bucket = new Linear(rule, emit.predicate(conjunction(others.map(({ term }) => term)), rule))
  }
  for (const { atom } of conjuncts) {
    if (atom !== undefined && isTested(atom)) {
      bucket = testAtom(atom.kind, emit.read(atom.subject), ownCopy(atom.keys[0] as Value), bucket)
    }
  }
  return bucket
}

function linear(alternative: Alternative, emit: Emit): Matcher {
  const { rule, conjuncts } = alternative
  const term = conjunction(conjuncts.map((conjunct) => conjunct.term))
  return new Linear(rule, emit.predicate(term, rule))
}

class Linear implements Matcher {
  readonly #rule: number
  readonly #test: Predicate

  constructor(rule: number, test: Predicate) {
    this.#rule = rule
    this.#test = test
  }

  match(variables: Variables): number {
    return this.#test(variables) ? this.#rule : -1
  }
}

class Several implements Matcher {
  readonly #matchers: readonly Matcher[]

  constructor(matchers: readonly Matcher[]) {
    this.#matchers = matchers
  }

  match(variables: Variables): number {
    const matchers = this.#matchers
    for (let i = 0; i < matchers.length; i++) {
      const found = (matchers[i] as Matcher).match(variables)
      if (found >= 0) return found
    }
    return -1
  }
}

function join(lookups: readonly Matcher[], others: readonly Matcher[]): Matcher {
  const all = [...lookups, ...others]
  return all.length === 1 ? (all[0] as Matcher) : new Several(all)
}
