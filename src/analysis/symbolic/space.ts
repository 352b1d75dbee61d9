import type { Term } from '../../cel/check/term.ts'
import { JSON_VALUE, mapOf, STRING } from '../../cel/check/types.ts'
import { isMetered } from '../../cel/emit/metered.ts'
import type { Environment } from '../../cel/index.ts'
import { possibleOutcomes } from '../../cel/rules/possibility.ts'
import { AttributeTree, type Facts } from './attribute-tree.ts'
import { ContentsFormulas, learnContents, recordsContents } from './contents.ts'
import { evaluation } from './evaluation.ts'
import type { FormName } from './forms.ts'
import { ALWAYS, all, any, type Formula, literal, NEVER, negation } from './formula.ts'
import { hintsIn } from './hints.ts'
import { type Hosts, hostsBy, hostTexts, isHostHeader, oneHost, spellings } from './host-header.ts'
import { leafTerms } from './leaf-terms.ts'
import { type Attribute, type Leaf, leafOf, strictReads } from './leaves.ts'
import { ANY, ERROR, FALSE, NOT_TRUE, type Outcomes, outcomeOf, swapped, TRUE } from './outcome.ts'
import { termKey } from './term-key.ts'
import type { Possibility, Unknown } from './unknown.ts'

/**
 * An expression, with the names under which it knows variables or their fields: rules of two
 * policies may see two tokens.
 */
export interface Condition {
  readonly text: string
  readonly term: Term
  readonly names?: ReadonlyMap<string, string>
  /** What must also be true, and is not an expression. */
  readonly parts?: readonly OpaquePart[]
}

/** A part that is true or false, and cannot be analyzed. */
export interface OpaquePart {
  /** A description, which is the same for the same part. */
  readonly id: string
  /** A condition that an example can follow instead. */
  readonly likely: Condition | undefined
}

/**
 * `proof` assumes that conditions that cannot be analyzed may have any outcome, so what is
 * impossible there is impossible. `search` looks for values with the wanted outcome and may miss
 * some, so what it finds can occur in requests.
 */
export type Mode = 'proof' | 'search'

/** Requests, as far as some conditions can distinguish them. */
export class Space {
  readonly #tree: AttributeTree
  readonly #contents: ContentsFormulas
  readonly #mode: Mode
  readonly #leaves = new Map<Term, Leaf>()
  readonly #outcomes = new Map<string, Unknown>()
  readonly #axioms: Formula[] = []
  #isExact = true
  /** Set if the header is read, in search mode: a proof does not need to know that both are one. */
  #hosts: Hosts | undefined
  /** Learned before the header. */
  readonly #hostTexts: string[] = []

  constructor(environment: Environment, facts: Facts, mode: Mode) {
    const isAlwaysSet = (variable: string) => environment.variables.get(variable)?.set === 'always'
    this.#tree = new AttributeTree(facts, isAlwaysSet)
    this.#contents = new ContentsFormulas(this.#tree)
    this.#mode = mode
  }

  /** Whether every condition so far is of a form that can be analyzed. */
  get isExact(): boolean {
    return this.#isExact
  }

  /** What is true for every request. */
  get axioms(): readonly Formula[] {
    const hosts = this.#hosts === undefined ? [] : oneHost(this.#tree, this.#hosts)
    return [...this.#axioms, ...this.#contents.axioms, ...hosts]
  }

  /** All conditions must be learned before a formula is made of any of them. */
  learn(condition: Condition): void {
    for (const { likely } of condition.parts ?? []) {
      this.#isExact = false
      if (likely !== undefined && this.#mode === 'search') this.learn(likely)
    }
    for (const term of leafTerms(condition.term)) {
      const leaf = leafOf(term)
      this.#leaves.set(term, leaf)
      const attributes = leaf.kind === 'opaque' ? leaf.attributes : [leaf.attribute]
      const own = attributes.map((attribute) => renamed(attribute, condition.names))
      if (this.#mode === 'search') this.#learnHosts(own, leaf)
      // The max length of a string before it is an error is not analyzed.
      if (leaf.kind !== 'opaque' && leaf.form === 'word') this.#isExact = false
      if (leaf.kind === 'plain') this.#tree.ask(own[0] as Attribute, leaf.asks)
      else if (leaf.kind !== 'opaque') {
        learnContents(this.#tree, own[0] as Attribute, leaf)
        const elements = leaf.kind === 'counts' ? [] : leaf.elements
        const texts = elements.filter((element) => typeof element === 'string')
        if (this.#mode === 'search') this.#tree.hint(own[0] as Attribute, texts)
      } else {
        this.#isExact = false
        const texts = this.#mode === 'search' ? hintsIn(term) : []
        for (const attribute of own) {
          this.#tree.hint(attribute, texts)
          if (this.#mode === 'search') this.#tree.vary(attribute)
        }
      }
    }
  }

  /** Strings tested on the host are useful for the header, and vice versa. */
  #learnHosts(attributes: readonly Attribute[], leaf: Leaf): void {
    for (const attribute of attributes) {
      const hosts = hostsBy(attribute)
      if (hosts === undefined) continue
      if (isHostHeader(attribute.steps)) this.#hosts = hosts
      this.#hostTexts.push(...hostTexts(leaf.kind === 'plain' ? leaf.asks : {}))
    }
    if (this.#hosts === undefined || this.#hostTexts.length === 0) return
    // Without a header, there is no name.
    this.#tree.hint(this.#hosts.host, ['', ...this.#hostTexts])
    const texts = this.#hostTexts.splice(0)
    this.#tree.hint(this.#hosts.header, [...texts, ...texts.flatMap(spellings)])
  }

  /** Adds a variable that nothing reads, but that matters if it is set. */
  learnVariable(name: string): void {
    this.#tree.ask(wholeVariable(name), {})
  }

  learnAttribute(attribute: Attribute): void {
    this.#tree.ask(attribute, {})
  }

  /** The members of a variable that were learned. */
  attributesBelow(variable: string): readonly Attribute[] {
    return this.#tree.attributesBelow(variable)
  }

  /** Strings that a member of the variable is likely to have; a proof does not need them. */
  hintMember(variable: string, member: string, texts: readonly string[]): void {
    if (this.#mode === 'proof') return
    for (const attribute of this.#tree.attributesBelow(variable)) {
      if (attribute.steps[1] === member) this.#tree.hint(attribute, texts)
    }
  }

  isSet(name: string): Formula {
    return this.isThere(wholeVariable(name), {})
  }

  /** A rule of this action with this condition has its effect: it denies, passes or admits. */
  matches(condition: Condition, action: string): Formula {
    const ends = this.#ends(condition)
    const own = this.formula(condition, TRUE)
    return action === 'Deny' ? any([own, ends]) : all([own, negation(ends)])
  }

  /** The rule does not have its effect. */
  misses(condition: Condition, action: string): Formula {
    const ends = this.#ends(condition)
    const own = this.formula(condition, NOT_TRUE)
    return action === 'Deny' ? all([own, negation(ends)]) : any([own, ends])
  }

  /**
   * Whether the rule may have its effect, or must, whatever the unknown attributes are: how the
   * gateway decides what a list shows, and about messages that name nothing.
   */
  possibly(condition: Condition, action: string, unknown: readonly (readonly string[])[]): Formula {
    const ends = this.#ends(condition)
    const { mayBeTrue, mustBeTrue } = possibleOutcomes<Formula>(condition.term, unknown, {
      part: (term) => this.#formula(term, TRUE, condition),
      always: ALWAYS,
      never: NEVER,
      both: (a, b) => all([a, b]),
      either: (a, b) => any([a, b]),
    })
    return action === 'Deny' ? any([mustBeTrue, ends]) : all([mayBeTrue, negation(ends)])
  }

  /**
   * The evaluation ends at its budget, or at something that cannot be read for certain, such as
   * JSON that names a member twice. A Deny rule then denies and no other rule matches, whatever the
   * rest of the condition is, and which parts are evaluated depends on how it is written. So of two
   * equivalent conditions, one may end where the other does not.
   */
  #ends(condition: Condition): Formula {
    const { term, names } = condition
    if (this.#mode === 'search' || !leafTerms(term).some((one) => this.#mayEnd(one))) return NEVER
    const id = `${termKey(term)} ends # ${[...(names ?? [])].flat().join(' ')}`
    let unknown = this.#outcomes.get(id)
    if (unknown === undefined) {
      const possibilities = [ANY, ERROR].map((outcome) => ({ kind: 'outcome', outcome }) as const)
      unknown = { id, whole: undefined, steps: [], possibilities }
      this.#outcomes.set(id, unknown)
    }
    return literal(unknown, (index) => index === 1)
  }

  /** Other forms that loop are so cheap that no request is too long for them. */
  #mayEnd(term: Term): boolean {
    if (!isMetered(term)) return false
    const leaf = this.#leaves.get(term)
    return leaf === undefined || leaf.kind === 'opaque' || leaf.form === 'word'
  }

  /** The condition has one of these outcomes. */
  formula(condition: Condition, outcomes: Outcomes): Formula {
    const own = this.#formula(condition.term, outcomes, condition)
    if (condition.parts === undefined || condition.parts.length === 0) return own
    if (outcomes === TRUE)
      return all([own, ...condition.parts.map((part) => this.#part(part, true))])
    if (outcomes !== NOT_TRUE) throw new Error('a condition with parts is true or is not')
    return any([own, ...condition.parts.map((part) => this.#part(part, false))])
  }

  #part({ id, likely }: OpaquePart, isTrue: boolean): Formula {
    if (this.#mode === 'search') {
      return likely === undefined ? NEVER : this.formula(likely, isTrue ? TRUE : NOT_TRUE)
    }
    let unknown = this.#outcomes.get(id)
    if (unknown === undefined) {
      const possibilities = [TRUE, FALSE].map((outcome) => ({ kind: 'outcome', outcome }) as const)
      unknown = { id, whole: undefined, steps: [], possibilities }
      this.#outcomes.set(id, unknown)
    }
    return literal(unknown, (index) => index === (isTrue ? 0 : 1))
  }

  /** The attribute has a value, as seen by the condition. */
  isThere(attribute: Attribute, { names }: Pick<Condition, 'names'>): Formula {
    const unknown = this.#tree.unknown(renamed(attribute, names))
    return literal(unknown, (index) => {
      const kind = unknown.possibilities[index]?.kind
      return kind !== 'absent' && kind !== 'unreachable'
    })
  }

  #formula(term: Term, outcomes: Outcomes, condition: Condition): Formula {
    if (outcomes === 0) return NEVER
    if (outcomes === ANY) return ALWAYS
    const of = (part: Term, wanted: Outcomes) => this.#formula(part, wanted, condition)
    switch (term.kind) {
      case 'constant':
        return outcomeOf(term.value) & outcomes ? ALWAYS : NEVER
      case 'not':
        return of(term.operand, swapped(outcomes))
      case 'and':
        return logic(TRUE, FALSE, outcomes, term, of)
      case 'or':
        return logic(FALSE, TRUE, outcomes, term, of)
      case 'conditional': {
        const ways = [
          all([of(term.condition, TRUE), of(term.whenTrue, outcomes)]),
          all([of(term.condition, FALSE), of(term.whenFalse, outcomes)]),
        ]
        return any(outcomes & ERROR ? [...ways, of(term.condition, ERROR)] : ways)
      }
      default:
        return this.#leaf(term, outcomes, condition)
    }
  }

  #leaf(term: Term, outcomes: Outcomes, condition: Condition): Formula {
    const leaf = this.#leaves.get(term) as Leaf
    if (leaf.kind === 'opaque') return this.#opaque(term, leaf.attributes, outcomes, condition)
    const attribute = renamed(leaf.attribute, condition.names)
    const unknown = this.#tree.unknown(attribute)
    if (!this.#isReported(leaf, attribute)) {
      this.#isExact = false
      return this.#opaque(term, [leaf.attribute], outcomes, condition)
    }
    const asked = leaf.kind === 'plain' ? (leaf.term ?? term) : term
    const comesOut = evaluation(asked, leaf.attribute.steps, unknown)
    if (leaf.kind !== 'plain') {
      return this.#contents.formula(leaf, attribute, comesOut, outcomes)
    }
    const own = literal(unknown, (index) => {
      return (comesOut(unknown.possibilities[index] as Possibility) & outcomes) !== 0
    })
    const isTooLong = leaf.form === 'word' && this.#mode === 'proof'
    return isTooLong ? this.#unlessTooLong(term, own, outcomes, condition) : own
  }

  /** A string with so many words that the evaluation exceeds its budget is an error. */
  #unlessTooLong(term: Term, own: Formula, outcomes: Outcomes, { names }: Condition): Formula {
    const id = `${termKey(term)} is too long # ${[...(names ?? [])].flat().join(' ')}`
    let unknown = this.#outcomes.get(id)
    if (unknown === undefined) {
      const possibilities = [ANY, ERROR].map((outcome) => ({ kind: 'outcome', outcome }) as const)
      unknown = { id, whole: undefined, steps: [], possibilities }
      this.#outcomes.set(id, unknown)
    }
    const isTooLong = literal(unknown, (index) => index === 1)
    const ways = [all([own, literal(unknown, (index) => index === 0)])]
    return any(outcomes & ERROR ? [...ways, isTooLong] : ways)
  }

  /** Whether there is a possibility for each class of values that the leaf distinguishes. */
  #isReported(leaf: Exclude<Leaf, { kind: 'opaque' }>, attribute: Attribute): boolean {
    if (BY_WHOLE_TEXT.has(leaf.form) && !this.#tree.isWhole(attribute)) return false
    return leaf.kind === 'plain' || recordsContents(this.#tree, attribute, leaf)
  }

  #opaque(
    term: Term,
    attributes: readonly Attribute[],
    outcomes: Outcomes,
    condition: Condition,
  ): Formula {
    const [only, ...others] = attributes
    if (this.#mode === 'search' && only !== undefined && others.length === 0) {
      const unknown = this.#tree.unknown(renamed(only, condition.names))
      const comesOut = evaluation(term, only.steps, unknown)
      return literal(unknown, (index) => {
        const possibility = unknown.possibilities[index] as Possibility
        // The contents of a list are not known here; whole lists are among the values.
        return possibility.kind !== 'list' && (comesOut(possibility) & outcomes) !== 0
      })
    }
    const unknown = this.#outcome(term, condition)
    return literal(unknown, (index) => {
      const possibility = unknown.possibilities[index] as Possibility
      return possibility.kind === 'outcome' && (possibility.outcome & outcomes) !== 0
    })
  }

  /** The same condition in the same scope has the same outcome. */
  #outcome(term: Term, condition: Condition): Unknown {
    const { names } = condition
    const scope = [...(names ?? [])].flat().join(' ')
    const id = `${termKey(term)} # ${scope}`
    const known = this.#outcomes.get(id)
    if (known !== undefined) return known
    const possibilities = [TRUE, FALSE, ERROR].map(
      (outcome) => ({ kind: 'outcome', outcome }) as const,
    )
    const unknown: Unknown = { id, whole: undefined, steps: [], possibilities }
    this.#outcomes.set(id, unknown)
    const isError = literal(unknown, (index) => possibilities[index]?.outcome === ERROR)
    for (const attribute of strictReads(term)) {
      this.#axioms.push(any([isError, this.isThere(attribute, condition)]))
    }
    return unknown
  }
}

/** Forms that need a string of every class, of which there may be too many. */
const BY_WHOLE_TEXT: ReadonlySet<FormName> = new Set([
  'suffix',
  'part',
  'pattern',
  'word',
  'length',
  'count',
])

/** `a && b` is `decisive` if either operand is, and `shared` if both are. */
function logic(
  shared: Outcomes,
  decisive: Outcomes,
  outcomes: Outcomes,
  term: { readonly left: Term; readonly right: Term },
  of: (part: Term, wanted: Outcomes) => Formula,
): Formula {
  const both = (wanted: Outcomes) => all([of(term.left, wanted), of(term.right, wanted)])
  const either = (wanted: Outcomes) => any([of(term.left, wanted), of(term.right, wanted)])
  switch (outcomes) {
    case shared:
      return both(shared)
    case decisive:
      return either(decisive)
    case shared | decisive:
      return any([both(shared), either(decisive)])
    case decisive | ERROR:
      return either(decisive | ERROR)
    case shared | ERROR:
      return both(shared | ERROR)
    default:
      return all([both(shared | ERROR), either(decisive | ERROR)])
  }
}

function wholeVariable(name: string): Attribute {
  return { steps: [name], types: [mapOf(STRING, JSON_VALUE)] }
}

function renamed(attribute: Attribute, names: Condition['names']): Attribute {
  const [variable = '', ...rest] = attribute.steps
  const [field, ...below] = rest
  const other = field === undefined ? undefined : names?.get(`${variable}.${field}`)
  if (other !== undefined) return { ...attribute, steps: [...other.split('.'), ...below] }
  const name = names?.get(variable)
  return name === undefined ? attribute : { ...attribute, steps: [name, ...rest] }
}
