import {
  type CallTerm,
  type ConstantTerm,
  children,
  type FieldTerm,
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

/** An attribute that a term reads: the variable, the names behind it, and all types on the way. */
export interface Attribute {
  readonly steps: readonly string[]
  /** One for each step. */
  readonly types: readonly Type[]
}

/** A condition without logic of its own. */
export type Leaf =
  /** About one attribute, and of a form whose classes of values are all known. */
  | {
      readonly kind: 'plain'
      readonly form: FormName
      readonly attribute: Attribute
      readonly asks: Asks
      /** What is evaluated, where it is not the term itself. */
      readonly term?: Term
    }
  /** Whether a list holds one of these values, or an object has a member of that name. */
  | {
      readonly kind: 'holds'
      readonly form: FormName
      readonly attribute: Attribute
      readonly elements: readonly Value[]
    }
  /** Anything else: what it reads is known, not what values it tells apart. */
  | { readonly kind: 'opaque'; readonly attributes: readonly Attribute[] }

/** What a leaf compares its attribute with. */
export interface Asks {
  readonly equal?: readonly Value[]
  readonly prefix?: string
  readonly suffix?: string
  readonly infix?: string
  /** A regular expression that matches somewhere in it. */
  readonly pattern?: string
  /** Longer or shorter than so many characters. */
  readonly length?: number
  readonly ranges?: readonly Cidr[]
  /** Smaller or greater than this number. */
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
      return existence(term)
    case 'call':
      return callLeaf(term)
    default:
      return undefined
  }
}

/** Undefined where the form is not covered for attributes of this type. */
function plain(form: FormName, subject: Term, asks: Asks): Leaf | undefined {
  const attribute = attributeOf(subject)
  if (attribute === undefined || !isCoveredType(form, subject.type)) return undefined
  return { kind: 'plain', form, attribute, asks }
}

function equality(subject: Term, constant: Term): Leaf | undefined {
  if (constant.kind !== 'constant') return undefined
  const { value } = constant
  if (value instanceof Ip) return plain('address', subject, { ranges: [single(value)] })
  return isSimple(value) ? plain('equality', subject, { equal: [value] }) : undefined
}

function membership(term: MemberTerm): Leaf | undefined {
  const { element, container } = term
  if (container.kind === 'constant' && Array.isArray(container.value)) {
    const values = container.value as readonly Value[]
    if (values.length > 0 && values.every((value) => value instanceof Ip)) {
      return plain('address', element, { ranges: values.map((value) => single(value as Ip)) })
    }
    return values.every(isSimple) ? plain('choice', element, { equal: values }) : undefined
  }
  if (element.kind !== 'constant' || !isSimple(element.value)) return undefined
  return keyPresence(term, element, container) ?? holds('element', container, [element.value])
}

/** `'x-team' in request.headers`: as good as `has`. */
function keyPresence(term: MemberTerm, key: ConstantTerm, container: Term): Leaf | undefined {
  const { type } = container
  const map = attributeOf(container)
  if (type.kind !== 'map' || map === undefined || typeof key.value !== 'string') return undefined
  const name = type.caseless ? key.value.toLowerCase() : key.value
  const attribute = { steps: [...map.steps, name], types: [...map.types, type.value] }
  const own: Term = { ...term, element: { ...key, value: name } }
  return { kind: 'plain', form: 'key', attribute, asks: {}, term: own }
}

/** `list.exists(x, x == 'a')` and `list.exists(x, x in ['a', 'b'])` */
function existence(term: LoopTerm): Leaf | undefined {
  const { macro, second, first, body, range, filter } = term
  if (macro !== 'exists' || second !== undefined || filter !== undefined) return undefined
  const isElement = (one: Term) => one.kind === 'local' && one.slot === first.slot
  if (body.kind === 'equal' && !body.negated) {
    const other = isElement(body.left) ? body.right : body.left
    const own = other === body.right ? body.left : body.right
    if (!isElement(own) || other.kind !== 'constant' || !isSimple(other.value)) return undefined
    return holds('some', range, [other.value])
  }
  if (body.kind !== 'member' || !isElement(body.element)) return undefined
  const { container } = body
  if (container.kind !== 'constant' || !Array.isArray(container.value)) return undefined
  return container.value.every(isSimple) ? holds('some', range, container.value) : undefined
}

function holds(form: FormName, whole: Term, elements: readonly Value[]): Leaf | undefined {
  const { type } = whole
  const isStrings = type.kind === 'list' && type.element.kind === 'string'
  if (!isCoveredType(form, type) || (type.kind === 'list' && !isStrings)) return undefined
  const attribute = attributeOf(whole)
  return attribute && { kind: 'holds', form, attribute, elements }
}

/** Beyond it there are too many lengths to go through. */
const LONGEST = 40

const COMPARISONS: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_'])
const TEXT_CALLS = {
  startsWith: ['prefix', 'prefix'],
  endsWith: ['suffix', 'suffix'],
  contains: ['infix', 'part'],
  matches: ['pattern', 'pattern'],
} as const satisfies Record<string, readonly [keyof Asks, FormName]>

function callLeaf({ name, args, overloads }: CallTerm): Leaf | undefined {
  const [first, second] = args
  if (first === undefined || second === undefined || args.length !== 2) return undefined
  if (Object.hasOwn(TEXT_CALLS, name)) {
    const [asked, form] = TEXT_CALLS[name as keyof typeof TEXT_CALLS]
    if (second.kind !== 'constant' || typeof second.value !== 'string') return undefined
    // Where the function also takes what is no text, its classes are not those of texts.
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
  const [counted] = subject.kind === 'call' && subject.name === 'size' ? subject.args : []
  if (counted !== undefined) {
    const { value } = constant
    if (typeof value !== 'number' || !(value >= 0 && value <= LONGEST)) return undefined
    return plain('length', counted, { length: Math.ceil(value) })
  }
  return plain('order', subject, { bound: constant.value })
}

/** Equal only to itself, or to the same number of another type. */
function isSimple(value: Value): boolean {
  return value === null || ['string', 'boolean'].includes(typeof value) || isNumber(value)
}

function single(ip: Ip): Cidr {
  return new Cidr(ip, ip.family === 4 ? 32 : 128)
}

/** The chain of names from a variable, where the term is one. */
export function attributeOf(term: Term): Attribute | undefined {
  if (term.kind === 'variable') return { steps: [term.name], types: [term.type] }
  if (term.kind !== 'field' || term.access !== 'get') return undefined
  const operand = attributeOf(term.operand)
  if (operand === undefined || !HAS_MEMBERS.has(term.operand.type.kind)) return undefined
  return { steps: [...operand.steps, term.field], types: [...operand.types, term.type] }
}

/** Types whose members are attributes like any other. */
const HAS_MEMBERS: ReadonlySet<Type['kind']> = new Set(['struct', 'map', 'json'])

/** Everything that a term reads, the longest chains that are known. */
export function attributesOf(term: Term): readonly Attribute[] {
  const own = attributeOf(term)
  if (own !== undefined) return [own]
  if (term.kind === 'field') {
    return attributesOf(term.access === 'test' ? tested(term) : term.operand)
  }
  return children(term).flatMap(attributesOf)
}

/** What `has` asks for, as if it were read. */
function tested(term: FieldTerm): FieldTerm {
  const { type } = term.operand
  return { ...term, access: 'get', type: memberType(type, term.field) }
}

function memberType(type: Type, field: string): Type {
  if (type.kind === 'struct') return type.fields.get(field)?.type ?? DYN
  return type.kind === 'map' ? type.value : type
}

/** What makes the term an error where it is one, whatever else there is. */
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
