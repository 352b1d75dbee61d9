import {
  type CallTerm,
  type ConstantTerm,
  children,
  type FieldTerm,
  type LocalTerm,
  type LoopTerm,
  type MemberTerm,
  type Term,
} from '../../cel/check/term.ts'
import { DYN, type Type } from '../../cel/check/types.ts'
import { Cidr } from '../../cel/values/cidr.ts'
import { Ip } from '../../cel/values/ip.ts'
import type { Value } from '../../cel/values/value.ts'
import { type FormName, isCoveredType } from './forms.ts'
import { isNumber } from './numbers.ts'
import { patternMachine } from './pattern-machine.ts'

/** An attribute that a term reads: the variable, the selected names, and the types of all steps. */
export interface Attribute {
  readonly steps: readonly string[]
  /** One for each step. */
  readonly types: readonly Type[]
}

/** A condition without logical operators. */
export type Leaf =
  /** About one attribute, and of a form whose classes of values are all known. */
  | {
      readonly kind: 'plain'
      readonly form: FormName
      readonly attribute: Attribute
      readonly asks: Tests
      /** The term to evaluate, if it is a different one. */
      readonly term?: Term
    }
  /** Whether a list contains one of these values, or an object has a member of that name. */
  | {
      readonly kind: 'holds'
      readonly form: FormName
      readonly attribute: Attribute
      readonly elements: readonly Value[]
      readonly asked: Asked
    }
  /** The number of elements or characters. */
  | {
      readonly kind: 'counts'
      readonly form: FormName
      readonly attribute: Attribute
      readonly longest: number
    }
  /** Whether it equals this list of one element or none. */
  | {
      readonly kind: 'single'
      readonly form: FormName
      readonly attribute: Attribute
      readonly elements: readonly Value[]
    }
  /** Anything else: the attributes it reads are known, but not the values it distinguishes. */
  | { readonly kind: 'opaque'; readonly attributes: readonly Attribute[] }

/** Whether some element is one of the named ones, none is, every one is, or some is another. */
export type Asked = 'some' | 'none' | 'every' | 'another'

/** What a leaf compares its attribute with. */
export interface Tests {
  readonly equal?: readonly Value[]
  readonly prefix?: string
  readonly suffix?: string
  readonly infix?: string
  /** A regular expression that matches anywhere in it. */
  readonly pattern?: string
  /** Longer or shorter than this many characters. */
  readonly length?: number
  readonly ranges?: readonly Cidr[]
  /** Less or greater than this number. */
  readonly bound?: Value
}

export function leafOf(term: Term): Leaf {
  return coveredLeaf(term) ?? { kind: 'opaque', attributes: attributesOf(term) }
}

function coveredLeaf(term: Term): Leaf | undefined {
  switch (term.kind) {
    case 'variable':
      return plain('truth', term, {})
    case 'field':
      if (term.access === 'get') return plain('truth', term, {})
      return term.access === 'test' ? plain('presence', tested(term), {}) : undefined
    case 'equal':
      return equality(term.left, term.right) ?? equality(term.right, term.left)
    case 'member':
      return membership(term)
    case 'loop':
      return word(term) ?? ofElements(term)
    case 'call':
      return callLeaf(term)
    default:
      return undefined
  }
}

/** Undefined if the form is not covered for attributes of this type. */
function plain(form: FormName, subject: Term, asks: Tests): Leaf | undefined {
  const attribute = attributeOf(subject)
  if (attribute === undefined || !isCoveredType(form, subject.type)) return undefined
  return { kind: 'plain', form, attribute, asks }
}

function equality(subject: Term, constant: Term): Leaf | undefined {
  if (constant.kind !== 'constant') return undefined
  const { value } = constant
  if (isNumber(value) && isSize(subject)) return size(subject, value)
  if (Array.isArray(value)) return single(subject, value)
  if (value instanceof Ip) return plain('address', subject, { ranges: [oneAddress(value)] })
  return isSimple(value) ? plain('equality', subject, { equal: [value] }) : undefined
}

function membership(term: MemberTerm): Leaf | undefined {
  const { element, container } = term
  if (container.kind === 'constant' && Array.isArray(container.value)) {
    const values = container.value as readonly Value[]
    if (values.length > 0 && values.every((value) => value instanceof Ip)) {
      return plain('address', element, { ranges: values.map((value) => oneAddress(value as Ip)) })
    }
    return values.every(isSimple) ? plain('choice', element, { equal: values }) : undefined
  }
  if (element.kind !== 'constant' || !isSimple(element.value)) return undefined
  return (
    keyPresence(term, element, container) ?? holds('element', container, [element.value], 'some')
  )
}

/** `'x-team' in request.headers`, which is equivalent to `has`. */
function keyPresence(term: MemberTerm, key: ConstantTerm, container: Term): Leaf | undefined {
  const { type } = container
  const map = attributeOf(container)
  if (type.kind !== 'map' || map === undefined || typeof key.value !== 'string') return undefined
  const name = type.caseless ? key.value.toLowerCase() : key.value
  const attribute = { steps: [...map.steps, name], types: [...map.types, type.value] }
  const own: Term = { ...term, element: { ...key, value: name } }
  return { kind: 'plain', form: 'key', attribute, asks: {}, term: own }
}

/** `list.exists(x, x == 'a')`, `list.all(x, x in ['a', 'b'])`, `list.all(x, x != 'a')` */
function ofElements({ macro, second, first, body, range, filter }: LoopTerm): Leaf | undefined {
  if ((macro !== 'exists' && macro !== 'all') || second !== undefined || filter !== undefined) {
    return undefined
  }
  const named = namedBy(body, first)
  if (named === undefined) return undefined
  if (macro === 'exists' && named.isOneOf) return holds('some', range, named.values, 'some')
  if (macro === 'all' && !named.isOneOf) return holds('none', range, named.values, 'none')
  return holds('every', range, named.values, macro === 'all' ? 'every' : 'another')
}

interface Named {
  readonly values: readonly Value[]
  /** If false, none of them. */
  readonly isOneOf: boolean
  readonly comparisons: number
}

/** With more, a list that fits into a token may exceed the budget of an evaluation. */
const MAX_COMPARISONS = 2

/** The constants that an element is compared with. These comparisons are never errors. */
function namedBy(body: Term, element: LocalTerm): Named | undefined {
  const isElement = (one: Term) => one.kind === 'local' && one.slot === element.slot
  switch (body.kind) {
    case 'not': {
      const inner = namedBy(body.operand, element)
      return inner && { ...inner, isOneOf: !inner.isOneOf }
    }
    case 'and':
    case 'or': {
      const [left, right] = [namedBy(body.left, element), namedBy(body.right, element)]
      const isOneOf = body.kind === 'or'
      if (left?.isOneOf !== isOneOf || right?.isOneOf !== isOneOf) return undefined
      const comparisons = left.comparisons + right.comparisons
      if (comparisons > MAX_COMPARISONS) return undefined
      return { values: [...left.values, ...right.values], isOneOf, comparisons }
    }
    case 'equal': {
      const [own, other] = isElement(body.left) ? [body.left, body.right] : [body.right, body.left]
      if (!isElement(own) || other.kind !== 'constant' || !isSimple(other.value)) return undefined
      return { values: [other.value], isOneOf: !body.negated, comparisons: 1 }
    }
    case 'member': {
      const { container } = body
      if (!isElement(body.element) || container.kind !== 'constant') return undefined
      const { value } = container
      if (!Array.isArray(value) || !value.every(isSimple)) return undefined
      return { values: value as readonly Value[], isOneOf: true, comparisons: 1 }
    }
    default:
      return undefined
  }
}

function holds(
  form: FormName,
  whole: Term,
  elements: readonly Value[],
  asked: Asked,
): Leaf | undefined {
  const { type } = whole
  const isStrings = type.kind === 'list' && type.element.kind === 'string'
  if (!isCoveredType(form, type) || (type.kind === 'list' && !isStrings)) return undefined
  const attribute = attributeOf(whole)
  return attribute && { kind: 'holds', form, attribute, elements, asked }
}

/** `jwt.groups == ['eng']`. With more elements, their order would matter. */
function single(subject: Term, elements: readonly Value[]): Leaf | undefined {
  const attribute = attributeOf(subject)
  if (attribute === undefined || !isCoveredType('single', subject.type)) return undefined
  if (elements.length > 1 || !elements.every(isSimple)) return undefined
  return { kind: 'single', form: 'single', attribute, elements }
}

/** `jwt.scope.split(' ').exists(s, s == 'read')`: true if a regular expression matches. */
function word({ macro, second, first, body, range, filter }: LoopTerm): Leaf | undefined {
  if (range.kind !== 'call' || range.name !== 'split' || range.args.length !== 2) return undefined
  if (macro !== 'exists' || second !== undefined || filter !== undefined) return undefined
  const [text, separator] = range.args as [Term, Term]
  const named = namedBy(body, first)
  if (named?.isOneOf !== true || separator.kind !== 'constant') return undefined
  const by = separator.value
  if (typeof by !== 'string' || !/^[ ,;:/]$/.test(by)) return undefined
  const words = named.values.filter((value) => typeof value === 'string' && /^[\w-]+$/.test(value))
  if (words.length === 0 || words.length < named.values.length) return undefined
  const pattern = `(?:^|${by})(?:${words.join('|')})(?:${by}|$)`
  return patternMachine(pattern) === undefined ? undefined : plain('word', text, { pattern })
}

/** Beyond this, there are too many lengths to go through. */
const MAX_LENGTH = 40

const COMPARISONS: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_'])
const TEXT_CALLS = {
  startsWith: ['prefix', 'prefix'],
  endsWith: ['suffix', 'suffix'],
  contains: ['infix', 'part'],
  matches: ['pattern', 'pattern'],
} as const satisfies Record<string, readonly [keyof Tests, FormName]>

function callLeaf({ name, args, overloads }: CallTerm): Leaf | undefined {
  const [first, second] = args
  if (first === undefined || second === undefined || args.length !== 2) return undefined
  if (Object.hasOwn(TEXT_CALLS, name)) {
    const [asked, form] = TEXT_CALLS[name as keyof typeof TEXT_CALLS]
    if (second.kind !== 'constant' || typeof second.value !== 'string') return undefined
    // If the function also accepts other types, its classes are not those of strings.
    if (asked === 'pattern' && patternMachine(second.value) === undefined) return undefined
    const isOfTexts = overloads.every(({ params }) => params.every(({ kind }) => kind === 'string'))
    return isOfTexts ? plain(form, first, { [asked]: second.value }) : undefined
  }
  if (name === 'containsIP' && first.kind === 'constant' && first.value instanceof Cidr) {
    return plain('range', second, { ranges: [first.value] })
  }
  if (!COMPARISONS.has(name)) return undefined
  const [subject, constant] = second.kind === 'constant' ? [first, second] : [second, first]
  if (constant.kind !== 'constant' || !isNumber(constant.value)) return undefined
  if (isSize(subject)) return size(subject, constant.value)
  return plain('order', subject, { bound: constant.value })
}

function isSize(term: Term): term is CallTerm {
  return term.kind === 'call' && term.name === 'size' && term.args.length === 1
}

/** A size that is compared with a small number: of a string, or of a claim of any type. */
function size({ args }: CallTerm, bound: Value): Leaf | undefined {
  const [counted] = args as readonly [Term]
  if (typeof bound !== 'number' || !(bound >= 0 && bound <= MAX_LENGTH)) return undefined
  const longest = Math.ceil(bound)
  const attribute = attributeOf(counted)
  if (attribute === undefined || !isCoveredType('count', counted.type)) {
    return plain('length', counted, { length: longest })
  }
  return { kind: 'counts', form: 'count', attribute, longest }
}

/** Whether the value equals only itself, or the same number of another type. */
function isSimple(value: Value): boolean {
  return value === null || ['string', 'boolean'].includes(typeof value) || isNumber(value)
}

function oneAddress(ip: Ip): Cidr {
  return new Cidr(ip, ip.family === 4 ? 32 : 128)
}

/** The chain of names from a variable, if the term is one. */
export function attributeOf(term: Term): Attribute | undefined {
  if (term.kind === 'variable') {
    return COMPUTED.has(term.name) ? undefined : { steps: [term.name], types: [term.type] }
  }
  if (term.kind !== 'field' || term.access !== 'get') return undefined
  const operand = attributeOf(term.operand)
  if (operand === undefined || !HAS_MEMBERS.has(term.operand.type.kind)) return undefined
  return { steps: [...operand.steps, term.field], types: [...operand.types, term.type] }
}

/** Computed by expressions of the configuration, not by clients: any value may be impossible. */
const COMPUTED: ReadonlySet<string> = new Set(['metadata'])

/** Types whose members are attributes like any other. */
const HAS_MEMBERS: ReadonlySet<Type['kind']> = new Set(['struct', 'map', 'json'])

/** Everything that a term reads, as the longest chains that are known. */
export function attributesOf(term: Term): readonly Attribute[] {
  const own = attributeOf(term)
  if (own !== undefined) return [own]
  if (term.kind === 'field') {
    return attributesOf(term.access === 'test' ? tested(term) : term.operand)
  }
  return children(term).flatMap(attributesOf)
}

/** The field that `has` tests, as if it were read. */
function tested(term: FieldTerm): FieldTerm {
  const { type } = term.operand
  return { ...term, access: 'get', type: memberType(type, term.field) }
}

function memberType(type: Type, field: string): Type {
  if (type.kind === 'struct') return type.fields.get(field)?.type ?? DYN
  return type.kind === 'map' ? type.value : type
}

/** The attributes that make the term an error if they are missing, whatever the others are. */
export function strictReads(term: Term): readonly Attribute[] {
  const own = attributeOf(term)
  if (own !== undefined) return [own]
  switch (term.kind) {
    case 'field':
      return term.access === 'get' ? strictReads(term.operand) : []
    case 'call':
      return term.args.flatMap(strictReads)
    case 'equal':
      return [...strictReads(term.left), ...strictReads(term.right)]
    case 'member':
      return [...strictReads(term.element), ...strictReads(term.container)]
    case 'index':
      return term.optional ? [] : [...strictReads(term.operand), ...strictReads(term.index)]
    case 'loop':
      return strictReads(term.range)
    default:
      return []
  }
}
