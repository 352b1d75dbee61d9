import type { CallTerm, EqualTerm, FieldTerm, IndexTerm, MemberTerm, Term } from '../check/term.ts'
import { isDeclared, isKnown } from '../check/trusted-types.ts'
import { Cidr } from '../values/cidr.ts'
import { isIdentity, isJson, isProperty, memberSet } from './inline.ts'
import { comparisonOf, operatorOf } from './operator-table.ts'
import type { Source } from './source.ts'

export function writeField(s: Source, term: FieldTerm): string {
  const name = JSON.stringify(term.field)
  const { operand, access } = term
  if (access === 'test') {
    // For a JSON value that is not an object, has() is an error, so only these two need no check.
    const isFields = operand.type.kind === 'struct' || operand.type.kind === 'map'
    if (isFields && isProperty(operand, term.field)) {
      return s.guarded([operand], ([t]) => `${t}[${name}]!==undefined`, 'undefined')
    }
    return `testField(${s.value(operand)},${name})`
  }
  if (access === 'optional') return `optField(${s.value(operand)},${name})`
  if (isProperty(term.operand, term.field)) return `${s.value(operand)}?.[${name}]`
  const isHeader = operand.type.kind === 'map' && operand.type.caseless === true
  return `${isHeader ? 'getHeader' : 'getField'}(${s.value(operand)},${name})`
}

export function writeHas(s: Source, term: FieldTerm): string {
  if (isProperty(term.operand, term.field))
    return `${s.value(term.operand)}?.[${JSON.stringify(term.field)}]!==undefined`
  return `${writeField(s, term)}===true`
}

export function writeIndex(s: Source, term: IndexTerm): string {
  const { operand, index, optional } = term
  const [list, key] = [s.value(operand), s.value(index)]
  if (optional) return `optIndex(${list},${key})`
  const isElement =
    operand.type.kind === 'list' && index.type.kind === 'int' && isKnown(operand) && isKnown(index)
  return isElement ? `${list}?.[${key}]` : `getIndex(${list},${key})`
}

export function writeEqual(s: Source, term: EqualTerm, wanted: boolean): string {
  const [constant, other] = constantFirst(term)
  if (constant !== undefined && isIdentity(constant.value, other)) {
    const k = s.literal(constant.value)
    if (wanted) return `${s.value(other)}===${k}`
    return s.guarded([other], ([t]) => `${t}!==${k}`, 'false')
  }
  if (isText(term.left) && isText(term.right)) {
    const not = wanted ? '' : '!'
    return s.guarded([term.left, term.right], ([a, b]) => `${not}isSameText(${a},${b})`, 'false')
  }
  return `isEqual(${s.value(term.left)},${s.value(term.right)})===${wanted}`
}

export function writeEqualValue(s: Source, term: EqualTerm): string {
  const [constant, other] = constantFirst(term)
  const sign = term.negated ? '!==' : '==='
  if (constant !== undefined && isIdentity(constant.value, other)) {
    const k = s.literal(constant.value)
    return s.guarded([other], ([t]) => `${t}${sign}${k}`, 'undefined')
  }
  const not = term.negated ? '!' : ''
  return s.guarded([term.left, term.right], ([a, b]) => `${not}equals(${a},${b})`, 'undefined')
}

export function writeMember(s: Source, term: MemberTerm, wanted: boolean): string {
  const { element, container } = term
  const set = memberSet(element, container)
  const not = wanted ? '' : '!'
  if (set !== undefined) {
    const k = s.constant(set)
    if (wanted) return `${k}.has(${s.value(element)})`
    return s.guarded([element], ([t]) => `!${k}.has(${t})`, 'false')
  }
  if (isTextSearch(term)) {
    const t = s.temporary()
    const k = s.value(element)
    const found = `Array.isArray(${t}=${s.value(container)})?${not}hasText(${t},${k})`
    return `(${found}:isMember(${k},${t})===${wanted})`
  }
  return `isMember(${s.value(element)},${s.value(container)})===${wanted}`
}

export function writeMemberValue(s: Source, term: MemberTerm): string {
  const set = memberSet(term.element, term.container)
  if (set === undefined) return `isMember(${s.value(term.element)},${s.value(term.container)})`
  const k = s.constant(set)
  return s.guarded([term.element], ([t]) => `${k}.has(${t})`, 'undefined')
}

export function writeCall(s: Source, term: CallTerm): string {
  const { args, overloads } = term
  if (overloads.some((overload) => overload.metered)) s.metered = true
  const inPlace = textTest(s, term) ?? networkTest(s, term)
  if (inPlace !== undefined) return `(${inPlace.guards}?${inPlace.code}:undefined)`
  const comparison = comparisonOf(term)
  if (comparison !== undefined) {
    return s.guarded(args, ([a, b]) => `${a}${comparison}${b}`, 'undefined')
  }
  const operator = operatorOf(term)
  if (operator !== undefined) {
    return s.guarded(args, (values) => `${operator}(${values.join()})`, 'undefined')
  }
  if (!term.exact) {
    const list = s.constant(overloads)
    return `call(${[list, ...args.map((arg) => s.value(arg))].join()})`
  }
  const f = s.constant(term.prepared ?? overloads[0]?.call)
  return s.guarded(args, (values) => `${f}(${values.join()})`, 'undefined')
}

/** Tests that rules use on every request are inlined. */
export function writeTest(s: Source, term: CallTerm, wanted: boolean): string {
  const not = wanted ? '' : '!'
  const inPlace = textTest(s, term) ?? networkTest(s, term)
  if (inPlace !== undefined) return `(${inPlace.guards}&&${not}${inPlace.code})`
  const comparison = comparisonOf(term)
  if (comparison !== undefined) {
    return s.guarded(term.args, ([a, b]) => `${not}(${a}${comparison}${b})`, 'false')
  }
  return `${writeCall(s, term)}===${wanted}`
}

interface InPlace {
  /** True if no operand is an error or has another type. */
  readonly guards: string
  readonly code: string
}

/** `text.startsWith('a')` and similar, on strings and on JSON, whose type is checked first. */
function textTest(s: Source, { args, name }: CallTerm): InPlace | undefined {
  const [receiver, argument] = args
  if (receiver === undefined || argument === undefined || !TEXT_TESTS.has(name)) return undefined
  if (!isText(argument) || !(isText(receiver) || isJson(receiver))) return undefined
  // Lists and maps have `contains` as well.
  if (name === 'contains' && !isText(receiver)) return undefined
  const t = s.temporary()
  const isString = `typeof(${t}=${s.value(receiver)})==='string'`
  const { value, test } = s.operand(argument)
  const guards = test === undefined ? isString : `${isString}&&${test}`
  const isShort = argument.kind === 'constant' && (argument.value as string).length < 256
  const code =
    isShort && name !== 'contains'
      ? `${t}.${name}(${value})`
      : `${TEXT_TESTS.get(name)}(${t},${value})`
  return { guards, code }
}

function networkTest(s: Source, { args, name }: CallTerm): InPlace | undefined {
  const [receiver, argument] = args
  if (
    name !== 'containsIP' ||
    receiver?.kind !== 'constant' ||
    argument?.type.kind !== 'ip' ||
    !isKnown(argument)
  ) {
    return undefined
  }
  if (!(receiver.value instanceof Cidr)) return undefined
  const k = s.constant(receiver.value)
  const { value, test } = s.operand(argument)
  return { guards: test ?? 'true', code: `${k}.containsIp(${value})` }
}

/** Functions that test strings of any length; for short ones, JavaScript's own are as fast. */
const TEXT_TESTS = new Map([
  ['startsWith', 'beginsWith'],
  ['endsWith', 'finishesWith'],
  ['contains', 'holdsText'],
])

function isText(term: Term): boolean {
  return term.type.kind === 'string' && isKnown(term)
}

function isTextSearch({ element, container }: MemberTerm): boolean {
  if (element.kind !== 'constant' || typeof element.value !== 'string') return false
  if (isJson(container)) return true
  if (container.type.kind !== 'list' || !isDeclared(container)) return false
  return container.type.element.kind === 'string' || container.type.element.kind === 'json'
}

function constantFirst({ left, right }: EqualTerm) {
  if (left.kind === 'constant') return [left, right] as const
  return right.kind === 'constant' ? ([right, left] as const) : ([undefined, left] as const)
}
