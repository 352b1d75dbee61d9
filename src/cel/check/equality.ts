import type { Span } from '../syntax/ast.ts'
import { parseCidr } from '../values/cidr.ts'
import { parseIp } from '../values/ip.ts'
import type { Value } from '../values/value.ts'
import { article, boolHint, isMadeOfJson, madeHint, rangeHint } from './hints.ts'
import { pathOf } from './path.ts'
import type { Term } from './term.ts'
import * as T from './types.ts'
import type { Typing } from './typing.ts'
import { showType } from './unify.ts'

const NUMERIC = new Set(['int', 'uint', 'double'])

/** `left == right`: comparing types that can never be equal is a mistake. */
export function checkEqual(
  typing: Typing,
  left: Term,
  right: Term,
  at: Span,
): readonly [Term, Term] {
  const sides = [asAddress(typing, left, right, at), asAddress(typing, right, left, at)] as const
  if (!comparable(typing, sides[0].type, sides[1].type)) {
    const [a, b] = sides.map((side) => typeOf(typing, side.type))
    const hint = sides.some((side) => typing.types.shallow(side.type).kind === 'string')
      ? (madeHint(sides) ??
        boolHint(sides) ??
        fieldHint(typing, sides) ??
        'convert one side: string(x), int(x)')
      : madeHint(sides)
    typing.report('PC0108', at, `${article(`${a}`)} never equals ${article(`${b}`)}`, hint)
  }
  return sides
}

/** For an attribute with fields, the one that was probably meant. */
function fieldHint(typing: Typing, sides: readonly Term[]): string | undefined {
  for (const side of sides) {
    const type = typing.types.shallow(side.type)
    const path = type.kind === 'struct' ? pathOf(side) : undefined
    if (type.kind !== 'struct' || path === undefined) continue
    const texts = [...type.fields].filter(([, field]) => field.type.kind === 'string')
    const [first = ''] = texts.find(([name]) => name === 'name') ?? texts[0] ?? []
    if (first !== '') return `did you mean \`${path}.${first}\`?`
  }
  return undefined
}

/** `element in container` */
export function checkMember(
  typing: Typing,
  element: Term,
  container: Term,
  at: Span,
): readonly [Term, Term] {
  const known = typing.types.shallow(container.type)
  if (known.kind === 'list') {
    const addressed = addressList(typing, element, container, at)
    if (addressed !== undefined) return [element, addressed]
    if (!comparable(typing, element.type, known.element))
      mismatch(typing, element, known.element, at)
  } else if (known.kind === 'map') {
    if (!comparable(typing, element.type, known.key)) mismatch(typing, element, known.key, at)
  } else if (!T.isDynamic(known) && known.kind !== 'param') {
    const message = `\`in\` requires a list or a map, found ${showType(known)}`
    typing.report('PC0106', container, message, containerHint(typing, element, container))
  }
  return [element, container]
}

function containerHint(typing: Typing, element: Term, container: Term): string | undefined {
  if (typing.types.shallow(element.type).kind === 'ip') {
    const isText = container.kind === 'constant' && typeof container.value === 'string'
    return rangeHint(element, isText ? (container.value as string) : undefined)
  }
  const isText = typing.types.shallow(container.type).kind === 'string'
  return isText ? "to search in a string, use text.contains('x')" : undefined
}

function mismatch(typing: Typing, element: Term, wanted: T.Type, at: Span): void {
  const [a, b] = [element.type, wanted].map((type) => typeOf(typing, type))
  const hint = madeHint([element, { ...element, type: typing.types.shallow(wanted) }])
  typing.report('PC0108', at, `${article(`${a}`)} is never among ${b} values`, hint)
}

function typeOf(typing: Typing, type: T.Type): string {
  const known = typing.types.resolve(type)
  return known.kind === 'json' ? 'JSON value' : showType(known)
}

function comparable(typing: Typing, a: T.Type, b: T.Type): boolean {
  const [left, right] = [typing.types.shallow(a), typing.types.shallow(b)]
  if (NUMERIC.has(left.kind) && NUMERIC.has(right.kind)) return true
  if (left.kind === 'null' || right.kind === 'null') return true
  if (isAddressed(left, right) || isAddressed(right, left)) return true
  if (isMadeOfJson(left, right) || isMadeOfJson(right, left)) return false
  return typing.types.tentatively(
    () => typing.types.assignable(a, b) || typing.types.assignable(b, a),
  )
}

/** An address equals its own string form, so these two types can be compared. */
function isAddressed(a: T.Type, b: T.Type): boolean {
  return a.kind === 'ip' && b.kind === 'string'
}

/** Parses a constant string that is compared with an address. */
function asAddress(typing: Typing, side: Term, other: Term, at: Span): Term {
  if (typing.types.shallow(other.type).kind !== 'ip') return side
  if (side.kind !== 'constant' || typeof side.value !== 'string') return side
  const ip = parseIp(side.value)
  if (ip === undefined) {
    reportText(typing, side.value, other, at)
    return side
  }
  return { ...side, value: ip, type: T.IP }
}

function addressList(typing: Typing, element: Term, container: Term, at: Span): Term | undefined {
  if (typing.types.shallow(element.type).kind !== 'ip' || container.kind !== 'constant')
    return undefined
  const values = container.value as readonly Value[]
  const bad = values.find((value) => typeof value === 'string' && parseIp(value) === undefined)
  if (bad !== undefined) {
    reportText(typing, bad as string, element, at)
    return container
  }
  const ips = values.map((value) => (typeof value === 'string' ? (parseIp(value) as Value) : value))
  return { ...container, value: ips, type: T.listOf(T.IP) }
}

function reportText(typing: Typing, text: string, address: Term, at: Span): void {
  const isRange = parseCidr(text) !== undefined
  const hint = isRange ? rangeHint(address, text) : 'use the format 10.0.0.7 or 2001:db8::1'
  typing.report('PC0107', at, 'cannot compare an IP address with a string', hint)
}
