import type { JsonObject, Value } from '../../cel/values/value.ts'
import { type AttributeTree, type Contents, idOf } from './attribute-tree.ts'
import { all, any, type Formula, literal } from './formula.ts'
import type { Attribute, Leaf } from './leaves.ts'
import { FALSE, type Outcomes, TRUE } from './outcome.ts'
import type { Possibility, Unknown } from './unknown.ts'

/** Leaves about the contents of a list or an object. */
export type ContentsLeaf = Extract<Leaf, { kind: 'holds' | 'counts' | 'single' }>

const KINDS = ['list', 'map'] as const

export function learnContents(tree: AttributeTree, attribute: Attribute, leaf: ContentsLeaf): void {
  switch (leaf.kind) {
    case 'holds':
      tree.recordElements(attribute, leaf.elements)
      if (isOfOthers(leaf)) tree.recordContents(attribute)
      break
    case 'counts':
      tree.ask(attribute, { length: leaf.longest })
      tree.recordContents(attribute, leaf.longest)
      break
    case 'single':
      tree.recordElements(attribute, leaf.elements)
      tree.recordContents(attribute, leaf.elements.length)
  }
}

/** Whether the possibilities of the contents are complete. */
export function recordsContents(
  tree: AttributeTree,
  attribute: Attribute,
  leaf: ContentsLeaf,
): boolean {
  if (leaf.kind !== 'holds') return tree.isCountable(attribute)
  return !isOfOthers(leaf) || tree.isReported(attribute)
}

function isOfOthers({ asked }: Extract<ContentsLeaf, { kind: 'holds' }>): boolean {
  return asked === 'every' || asked === 'another'
}

export class ContentsFormulas {
  readonly #tree: AttributeTree
  readonly #counted = new Set<Contents>()
  readonly #axioms: Formula[] = []

  constructor(tree: AttributeTree) {
    this.#tree = tree
  }

  /** Connect the number of elements with the presence of each. */
  get axioms(): readonly Formula[] {
    return this.#axioms
  }

  formula(
    leaf: ContentsLeaf,
    attribute: Attribute,
    comesOut: (possibility: Possibility) => Outcomes,
    outcomes: Outcomes,
  ): Formula {
    const unknown = this.#tree.unknown(attribute)
    const isMeant = (possibility: Possibility) => (comesOut(possibility) & outcomes) !== 0
    const others = literal(unknown, (index) => {
      const possibility = unknown.possibilities[index] as Possibility
      return possibility.kind !== 'list' && possibility.kind !== 'map' && isMeant(possibility)
    })
    switch (leaf.kind) {
      case 'holds':
        return any([
          others,
          ...KINDS.flatMap((kind) => this.#holds(leaf, attribute, kind, outcomes)),
        ])
      case 'counts':
        return any([others, ...KINDS.map((kind) => this.#counts(attribute, kind, isMeant))])
      case 'single':
        return any([others, ...this.#single(leaf.elements, attribute, isMeant)])
    }
  }

  /** Tests for an element of a list, or the name of a member of an object. */
  #holds(
    leaf: Extract<ContentsLeaf, { kind: 'holds' }>,
    attribute: Attribute,
    kind: 'list' | 'map',
    outcomes: Outcomes,
  ): readonly Formula[] {
    const looked = isOfOthers(leaf)
      ? this.#othersThan(leaf.elements, attribute, kind)
      : this.#named(leaf.elements, attribute, kind)
    const isSome = leaf.asked === 'some' || leaf.asked === 'another'
    const [whenSome, whenNone] = isSome ? [TRUE, FALSE] : [FALSE, TRUE]
    const ways: Formula[] = []
    if (outcomes & whenSome) ways.push(...looked.map(isThere))
    if (outcomes & whenNone) {
      ways.push(all([ofKind(this.#tree.unknown(attribute), kind), ...looked.map(isAbsent)]))
    }
    return ways
  }

  #named(elements: readonly Value[], attribute: Attribute, kind: 'list' | 'map') {
    if (kind === 'list') return elements.map((element) => this.#tree.held(attribute, element))
    return elements.flatMap((element) => {
      const member = this.#tree.member(attribute, element)
      return member === undefined ? [] : [this.#tree.unknown(member)]
    })
  }

  #othersThan(elements: readonly Value[], attribute: Attribute, kind: 'list' | 'map') {
    const { named, other } = this.#tree.contents(attribute, kind)
    const ids = new Set(elements.map(idOf))
    const others = named.filter(({ value }) => !ids.has(idOf(value)))
    return [...others.map(({ unknown }) => unknown), other]
  }

  #counts(
    attribute: Attribute,
    kind: 'list' | 'map',
    isMeant: (possibility: Possibility) => boolean,
  ): Formula {
    const { count } = this.#countedContents(attribute, kind)
    return literal(count, (index) => {
      const possibility = count.possibilities[index] as Possibility
      if (possibility.kind !== 'count') return false
      return isMeant({ kind: 'value', value: ofSize(possibility.count, kind) })
    })
  }

  /** Elements may be present more than once, so the count tells whether they are the only ones. */
  #single(
    elements: readonly Value[],
    attribute: Attribute,
    isMeant: (possibility: Possibility) => boolean,
  ): readonly Formula[] {
    const { whole, count } = this.#countedContents(attribute, 'list')
    const held = elements.map((element) => this.#tree.held(attribute, element))
    const isCount = (test: (count: number) => boolean) =>
      literal(count, (index) => {
        const possibility = count.possibilities[index] as Possibility
        return possibility.kind === 'count' && test(possibility.count)
      })
    const ways: Formula[] = []
    if (isMeant({ kind: 'value', value: elements })) {
      ways.push(all([isCount((own) => own === elements.length), ...held.map(isThere)]))
    }
    if (isMeant({ kind: 'map' })) {
      ways.push(
        ofKind(whole, 'map'),
        isCount((own) => own !== elements.length),
      )
      ways.push(...held.map(isAbsent))
    }
    return ways
  }

  #countedContents(attribute: Attribute, kind: 'list' | 'map'): Contents {
    const contents = this.#tree.contents(attribute, kind)
    if (!this.#counted.has(contents)) this.#axioms.push(...countAxioms(contents, kind))
    this.#counted.add(contents)
    return contents
  }
}

/**
 * There are at least as many elements as are distinguished. A list may contain each of them more
 * than once, so a list with any element may have any greater length; an object with more members
 * than the named ones has others. The greatest count represents all counts from there on.
 */
function countAxioms({ named, other, count }: Contents, kind: 'list' | 'map'): readonly Formula[] {
  const members = named.map(({ unknown }) => unknown)
  const reported = [...members, other]
  const greatest = count.possibilities.length - 2
  return count.possibilities.flatMap((possibility, at) => {
    if (possibility.kind !== 'count') return []
    const { count: own } = possibility
    const isOther = literal(count, (index) => index !== at)
    const tooMany = own === greatest ? [] : subsets(reported, own + 1)
    const axioms = tooMany.map((some) => any([isOther, ...some.map(isAbsent)]))
    if (own === 0) return axioms
    const enough =
      kind === 'list'
        ? reported.map(isThere)
        : [isThere(other), ...subsets(members, own).map((some) => all(some.map(isThere)))]
    return [...axioms, any([isOther, ...enough])]
  })
}

function subsets<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  if (size === 0) return [[]]
  if (size > all.length) return []
  return all.flatMap((first, index) =>
    subsets(all.slice(index + 1), size - 1).map((rest) => [first, ...rest]),
  )
}

function ofSize(count: number, kind: 'list' | 'map'): Value {
  const names = Array.from({ length: count }, (_, index) => String(index))
  return kind === 'list'
    ? names
    : (Object.fromEntries(names.map((one) => [one, one])) as JsonObject)
}

function isThere(unknown: Unknown): Formula {
  return literal(unknown, (index) => {
    const kind = unknown.possibilities[index]?.kind
    return kind !== 'absent' && kind !== 'unreachable'
  })
}

function isAbsent(unknown: Unknown): Formula {
  return ofKind(unknown, 'absent')
}

function ofKind(unknown: Unknown, kind: Possibility['kind']): Formula {
  return literal(unknown, (index) => unknown.possibilities[index]?.kind === kind)
}
