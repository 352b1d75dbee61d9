import { isName } from '../../cel/check/reads.ts'
import type { Type } from '../../cel/check/types.ts'
import type { Value } from '../../cel/values/value.ts'
import { addressesFor } from './addresses.ts'
import { claimNumbers, type NumberRange, numbersWithin, wholeNumbers } from './attribute-numbers.ts'
import type { Attribute, Tests } from './leaves.ts'
import { asInJson, isModest, isNumber, plainNumber } from './numbers.ts'
import { domainOf } from './text-domains.ts'
import { type Texts, textsFor } from './texts.ts'
import type { Possibility, Unknown } from './unknown.ts'

/** What is known about an attribute at the place that is analyzed. */
export type Fact =
  | { readonly kind: 'unset' }
  | { readonly kind: 'set' }
  /** One of these, if it is set. */
  | { readonly kind: 'values'; readonly values: readonly Value[]; readonly isSet: boolean }
  /** A number in this range, if it is set. */
  | { readonly kind: 'number'; readonly range: NumberRange; readonly isSet: boolean }

/** Keyed by the name of the attribute, as `nameOf` writes it. */
export type Facts = ReadonlyMap<string, Fact>

/** `jwt.sub`, `request.headers['x-team']` */
export function nameOf(steps: readonly string[]): string {
  return steps
    .map((step, index) => (index === 0 ? step : isName(step) ? `.${step}` : `['${step}']`))
    .join('')
}

interface Node {
  readonly steps: readonly string[]
  readonly type: Type
  readonly above: Node | undefined
  /** Whether the enclosing value may lack it. */
  readonly mayLack: boolean
  readonly asks: Tests[]
  readonly hints: Set<string>
  hasElements: boolean
  hasMembers: boolean
  /** The number of elements is distinguished up to this limit; -1 if it is not distinguished. */
  counted: number
  /** The elements that are tested, and the members that any condition mentions. */
  readonly elements: Map<string, Value>
  readonly members: Node[]
  isVaried: boolean
  unknown: Unknown | undefined
  texts: Texts | undefined
  readonly held: Map<string, Unknown>
  readonly contents: Map<'list' | 'map', Contents>
}

/** The contents of a list or an object: what is named, whether there is more, and how many. */
export interface Contents {
  readonly whole: Unknown
  readonly named: readonly { readonly value: Value; readonly unknown: Unknown }[]
  readonly other: Unknown
  readonly count: Unknown
}

/** With more, there are too many combinations for each count. */
const MAX_COUNTED = 7

/**
 * All attributes that some conditions read, as a tree: `jwt.realm.roles` is present only if
 * `jwt.realm` is, and that only if there is a token. First all conditions are recorded, then each
 * attribute becomes an unknown with the possibilities that the conditions distinguish.
 */
export class AttributeTree {
  readonly #nodes = new Map<string, Node>()
  readonly #facts: Facts
  readonly #isAlwaysSet: (variable: string) => boolean

  constructor(facts: Facts, isAlwaysSet: (variable: string) => boolean) {
    this.#facts = facts
    this.#isAlwaysSet = isAlwaysSet
  }

  ask(attribute: Attribute, asks: Tests): void {
    this.#node(attribute).asks.push(asks)
  }

  /** Records tests for these elements of a list, or members of an object. */
  recordElements(attribute: Attribute, elements: readonly Value[]): void {
    const node = this.#node(attribute)
    node.hasElements = true
    for (const element of elements) {
      node.elements.set(idOf(element), element)
      const member = this.member(attribute, element)
      if (member !== undefined) this.#node(member)
    }
  }

  /** Records tests for other contents, or for their number up to a limit. */
  recordContents(attribute: Attribute, counted = -1): void {
    const node = this.#node(attribute)
    node.hasElements = true
    node.hasMembers = true
    node.counted = Math.max(node.counted, counted)
  }

  /** Whether no element can equal two of the named ones, as large numbers can. */
  isReported(attribute: Attribute): boolean {
    const { elements } = this.#node(attribute)
    return [...elements.values()].every((one) => !isNumber(one) || isModest(plainNumber(one)))
  }

  isCountable(attribute: Attribute): boolean {
    const { elements, members } = this.#node(attribute)
    return Math.max(elements.size, members.length) <= MAX_COUNTED && this.isReported(attribute)
  }

  contents(attribute: Attribute, kind: 'list' | 'map'): Contents {
    const node = this.#node(attribute)
    const known = node.contents.get(kind)
    if (known !== undefined) return known
    const whole = this.#unknown(node)
    const isNamed = new Set([...node.elements.values(), ...node.members.map(lastStep)])
    const names: string[] = []
    for (let number = 1; names.length <= node.counted + 1; number++) {
      const name = number === 1 ? 'other' : `other-${number}`
      if (!isNamed.has(name)) names.push(name)
    }
    const [name] = names as [string]
    const counts = Array.from({ length: node.counted + 2 }, (_, count) => {
      return { kind: 'count', count, names } as const
    })
    const part = { whole: { unknown: whole, within: kind } }
    const made: Contents = {
      whole,
      named:
        kind === 'list'
          ? [...node.elements.values()].map((value) => {
              return { value, unknown: this.held(attribute, value) }
            })
          : node.members.map((one) => ({ value: lastStep(one), unknown: this.#unknown(one) })),
      other: {
        ...part,
        id: `another in ${whole.id}, a ${kind}`,
        steps: kind === 'list' ? node.steps : [...node.steps, name],
        possibilities: [
          { kind: 'absent' },
          kind === 'list' ? { kind: 'held', element: name } : { kind: 'value', value: null },
          { kind: 'unreachable' },
        ],
      },
      count: {
        ...part,
        id: `size of ${whole.id}, a ${kind}`,
        steps: node.steps,
        possibilities: [...counts, { kind: 'unreachable' }],
      },
    }
    node.contents.set(kind, made)
    return made
  }

  /** The member that a value names; undefined if no object can have it. */
  member({ steps, types }: Attribute, name: Value): Attribute | undefined {
    const type = types.at(-1) as Type
    if (type.kind !== 'json' || typeof name !== 'string') return undefined
    return { steps: [...steps, name], types: [...types, type] }
  }

  hint(attribute: Attribute, texts: readonly string[]): void {
    const node = this.#node(attribute)
    for (const text of texts) node.hints.add(text)
  }

  /** Records a test that only whole values can decide. Used only in the search for examples. */
  vary(attribute: Attribute): void {
    this.#node(attribute).isVaried = true
  }

  /** The attributes within a variable that are known so far. */
  attributesBelow(variable: string): readonly Attribute[] {
    return [...this.#nodes.values()].flatMap(({ steps, type, above }) => {
      const isBelow = steps.length === 2 && steps[0] === variable && above !== undefined
      return isBelow ? [{ steps, types: [above.type, type] }] : []
    })
  }

  unknown(attribute: Attribute): Unknown {
    return this.#unknown(this.#node(attribute))
  }

  /** Whether there is a string for each class that suffixes and substrings distinguish. */
  isWhole(attribute: Attribute): boolean {
    const node = this.#node(attribute)
    this.#unknown(node)
    return node.texts?.isWhole ?? true
  }

  /** Whether the list contains the element. */
  held(attribute: Attribute, element: Value): Unknown {
    const node = this.#node(attribute)
    const id = idOf(element)
    const known = node.held.get(id)
    if (known !== undefined) return known
    const list = this.#unknown(node)
    const made: Unknown = {
      id: `${id} in ${list.id}`,
      whole: { unknown: list, within: 'list' },
      steps: node.steps,
      possibilities: [
        { kind: 'absent' },
        { kind: 'held', element: asInJson(element) },
        { kind: 'unreachable' },
      ],
    }
    node.held.set(id, made)
    return made
  }

  #node({ steps, types }: Attribute): Node {
    const id = nameOf(steps)
    const known = this.#nodes.get(id)
    if (known !== undefined) return known
    const type = types.at(-1) as Type
    const above =
      steps.length === 1
        ? undefined
        : this.#node({ steps: steps.slice(0, -1), types: types.slice(0, -1) })
    if (above !== undefined) above.hasMembers = true
    const node: Node = {
      steps,
      type,
      above,
      mayLack: this.#mayLack(steps, above),
      asks: [],
      hints: new Set(),
      hasElements: false,
      hasMembers: false,
      counted: -1,
      elements: new Map(),
      members: [],
      isVaried: false,
      unknown: undefined,
      texts: undefined,
      held: new Map(),
      contents: new Map(),
    }
    above?.members.push(node)
    this.#nodes.set(id, node)
    return node
  }

  #mayLack(steps: readonly string[], above: Node | undefined): boolean {
    const fact = this.#facts.get(nameOf(steps))
    if (fact?.kind === 'unset') return true
    if (fact?.kind === 'set' || fact?.isSet === true) return false
    if (above === undefined) return !this.#isAlwaysSet(steps[0] as string)
    const { type } = above
    return type.kind !== 'struct' || type.fields.get(steps.at(-1) as string)?.set !== 'always'
  }

  #unknown(node: Node): Unknown {
    if (node.unknown !== undefined) return node.unknown
    const above = this.#unsure(node.above)
    const whole = above && ({ unknown: this.#unknown(above), within: 'map' } as const)
    const possibilities = this.#possibilities(node)
    if (whole !== undefined) possibilities.unshift({ kind: 'unreachable' })
    node.unknown = { id: nameOf(node.steps), whole, steps: node.steps, possibilities }
    return node.unknown
  }

  /** The nearest enclosing value that may be absent or may not have parts. */
  #unsure(node: Node | undefined): Node | undefined {
    if (node === undefined || node.mayLack || node.type.kind === 'json') return node
    return this.#unsure(node.above)
  }

  #possibilities(node: Node): Possibility[] {
    const fact = this.#facts.get(nameOf(node.steps))
    if (fact?.kind === 'unset') return [{ kind: 'absent' }]
    const found: Possibility[] = node.mayLack ? [{ kind: 'absent' }] : []
    const values =
      fact?.kind === 'values'
        ? fact.values
        : fact?.kind === 'number'
          ? numbersWithin(node.asks, fact.range)
          : valuesFor(node)
    for (const value of values) found.push({ kind: 'value', value })
    if (fact?.kind === 'values' || fact?.kind === 'number') return found
    const { kind } = node.type
    if (kind === 'map' || kind === 'struct' || (kind === 'json' && node.hasMembers)) {
      found.push({ kind: 'map' })
    }
    if (kind === 'list' || (kind === 'json' && node.hasElements)) found.push({ kind: 'list' })
    return found
  }
}

function valuesFor(node: Node): readonly Value[] {
  switch (node.type.kind) {
    case 'string':
      return textValues(node)
    case 'int':
      return wholeNumbers(node.asks, nameOf(node.steps))
    case 'bool':
      return [true, false]
    case 'ip':
      return addressesFor(node.asks.flatMap(({ ranges = [] }) => ranges))
    case 'json':
      return [
        ...textValues(node),
        true,
        false,
        null,
        ...claimNumbers(node.asks, node.steps[0] ?? ''),
        // If nothing tests its contents, one value represents all.
        ...(node.hasMembers ? [] : [{}]),
        ...(node.hasElements ? [] : [[]]),
        ...(node.isVaried ? collections(node.hints) : []),
      ]
    case 'map':
    case 'struct':
    case 'list':
      return []
    default:
      // Only its presence can be tested here.
      return [null]
  }
}

const MAX_HINTS = 8

/** Lists and objects of several sizes, with and without the tested strings. */
function collections(hints: ReadonlySet<string>): readonly Value[] {
  const others = ['other', 'another', 'x']
  const lists = [
    ...others.map((_, index) => others.slice(0, index + 1)),
    ...[...hints].slice(0, MAX_HINTS).flatMap((hint) => [[hint], [hint, 'other']]),
  ]
  const objects = lists.map((names) => Object.fromEntries(names.map((name) => [name, name])))
  return [[], {}, ...lists, ...objects]
}

function textValues(node: Node): readonly string[] {
  const equal = new Set<string>()
  const asked = {
    prefix: new Set<string>(),
    suffix: new Set<string>(),
    infix: new Set<string>(),
    pattern: new Set<string>(),
  }
  for (const { equal: values = [], ...asks } of node.asks) {
    for (const value of values) if (typeof value === 'string') equal.add(value)
    for (const key of ['prefix', 'suffix', 'infix', 'pattern'] as const) {
      const text = asks[key]
      if (text !== undefined) asked[key].add(text)
    }
  }
  const { prefix: prefixes, suffix: suffixes, infix: infixes, pattern: patterns } = asked
  const longest = Math.max(-1, ...node.asks.map(({ length = -1 }) => length))
  const questions = { equal, prefixes, suffixes, infixes, patterns, longest, hints: node.hints }
  node.texts = textsFor(questions, domainOf(node.steps))
  return node.texts.values
}

function lastStep({ steps }: Node): string {
  return steps.at(-1) as string
}

/** The same for equal values: 1, 1u and 1.0. */
export function idOf(value: Value): string {
  if (isNumber(value)) return String(plainNumber(value))
  return JSON.stringify(value)
}
