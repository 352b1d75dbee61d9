import { children, type FieldTerm, type Term } from '../../cel/check/term.ts'
import { DYN, type Type } from '../../cel/check/types.ts'
import { Cidr } from '../../cel/values/cidr.ts'
import { Ip } from '../../cel/values/ip.ts'
import type { Value } from '../../cel/values/value.ts'

/** An attribute that a term reads: the variable, the names behind it, and all types on the way. */
export interface Attribute {
  readonly steps: readonly string[]
  /** One for each step. */
  readonly types: readonly Type[]
}

/** A condition without logic of its own. */
export type Leaf =
  /** About one attribute, and of a form whose classes of values are all known. */
  | { readonly kind: 'plain'; readonly attribute: Attribute; readonly asks: Asks }
  /** Whether a list holds one of these texts. */
  | { readonly kind: 'holds'; readonly attribute: Attribute; readonly elements: readonly string[] }
  /** Anything else: what it reads is known, not what values it tells apart. */
  | { readonly kind: 'opaque'; readonly attributes: readonly Attribute[] }

/** What a leaf compares its attribute with. */
export interface Asks {
  readonly equal?: readonly Value[]
  readonly prefix?: string
  readonly ranges?: readonly Cidr[]
  /** Smaller or greater than this number. */
  readonly bound?: number
}

export function leafOf(term: Term): Leaf {
  return plainLeaf(term) ?? { kind: 'opaque', attributes: attributesOf(term) }
}

function plainLeaf(term: Term): Leaf | undefined {
  switch (term.kind) {
    case 'variable':
      return plain(term, {})
    case 'field':
      if (term.access === 'get') return plain(term, {})
      return term.access === 'test' ? plain(tested(term), {}) : undefined
    case 'equal':
      return equality(term.left, term.right) ?? equality(term.right, term.left)
    case 'member':
      return membership(term.element, term.container)
    case 'loop':
      return existence(term)
    case 'call':
      return callLeaf(term.name, term.args)
    default:
      return undefined
  }
}

function plain(term: Term, asks: Asks): Leaf | undefined {
  const attribute = attributeOf(term)
  return attribute && { kind: 'plain', attribute, asks }
}

function equality(subject: Term, constant: Term): Leaf | undefined {
  if (constant.kind !== 'constant') return undefined
  const { value } = constant
  if (value instanceof Ip) return plain(subject, { ranges: [single(value)] })
  return isSimple(value) ? plain(subject, { equal: [value] }) : undefined
}

function membership(element: Term, container: Term): Leaf | undefined {
  if (container.kind === 'constant' && Array.isArray(container.value)) {
    const values = container.value as readonly Value[]
    if (values.every((value) => value instanceof Ip)) {
      return plain(element, { ranges: values.map((value) => single(value as Ip)) })
    }
    return values.every(isSimple) ? plain(element, { equal: values }) : undefined
  }
  if (element.kind !== 'constant' || typeof element.value !== 'string') return undefined
  return keyPresence(element.value, container) ?? holds(container, [element.value])
}

/** `'x-team' in request.headers`: as good as `has`. */
function keyPresence(key: string, container: Term): Leaf | undefined {
  const { type } = container
  const map = attributeOf(container)
  if (type.kind !== 'map' || map === undefined) return undefined
  if (type.caseless && key !== key.toLowerCase()) return undefined
  const attribute = { steps: [...map.steps, key], types: [...map.types, type.value] }
  return { kind: 'plain', attribute, asks: {} }
}

/** `list.exists(x, x == 'a')` and `list.exists(x, x in ['a', 'b'])` */
function existence(term: Extract<Term, { kind: 'loop' }>): Leaf | undefined {
  const { macro, second, first, body, range } = term
  if (macro !== 'exists' || second !== undefined) return undefined
  const isElement = (one: Term) => one.kind === 'local' && one.slot === first.slot
  if (body.kind === 'equal' && !body.negated) {
    const other = isElement(body.left) ? body.right : body.left
    const own = other === body.right ? body.left : body.right
    if (!isElement(own) || other.kind !== 'constant') return undefined
    return typeof other.value === 'string' ? holds(range, [other.value]) : undefined
  }
  if (body.kind !== 'member' || !isElement(body.element)) return undefined
  const { container } = body
  if (container.kind !== 'constant' || !Array.isArray(container.value)) return undefined
  const texts = container.value.filter((value) => typeof value === 'string')
  return texts.length === container.value.length ? holds(range, texts) : undefined
}

function holds(list: Term, elements: readonly string[]): Leaf | undefined {
  const { type } = list
  const isList = type.kind === 'json' || (type.kind === 'list' && type.element.kind === 'string')
  const attribute = isList ? attributeOf(list) : undefined
  return attribute && { kind: 'holds', attribute, elements }
}

const COMPARISONS: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_'])

function callLeaf(name: string, args: readonly Term[]): Leaf | undefined {
  const [first, second] = args
  if (first === undefined || second === undefined || args.length !== 2) return undefined
  if (name === 'startsWith' && second.kind === 'constant' && typeof second.value === 'string') {
    return plain(first, { prefix: second.value })
  }
  if (name === 'containsIP' && first.kind === 'constant' && first.value instanceof Cidr) {
    return second.type.kind === 'ip' ? plain(second, { ranges: [first.value] }) : undefined
  }
  if (!COMPARISONS.has(name)) return undefined
  const [subject, constant] = second.kind === 'constant' ? [first, second] : [second, first]
  if (constant.kind !== 'constant' || typeof constant.value !== 'number') return undefined
  return plain(subject, { bound: constant.value })
}

/** Equal only to itself, or to the same number of another type. */
function isSimple(value: Value): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function single(ip: Ip): Cidr {
  return new Cidr(ip, ip.family === 4 ? 32 : 128)
}

/** The chain of names from a variable, where the term is one. */
export function attributeOf(term: Term): Attribute | undefined {
  if (term.kind === 'variable') return { steps: [term.name], types: [term.type] }
  if (term.kind !== 'field' || term.access !== 'get') return undefined
  const operand = attributeOf(term.operand)
  if (operand === undefined) return undefined
  return { steps: [...operand.steps, term.field], types: [...operand.types, term.type] }
}

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
