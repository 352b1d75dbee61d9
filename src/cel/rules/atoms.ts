import { pathOf } from '../check/path.ts'
import type { CallTerm, Term } from '../check/term.ts'
import { BOOL } from '../check/types.ts'
import { isIdentity } from '../emit/inline.ts'
import { Cidr } from '../values/cidr.ts'
import { Ip } from '../values/ip.ts'
import type { Value } from '../values/value.ts'

/**
 * A conjunct that one lookup can decide for many rules: the value of `subject` equals one of `keys`
 * (`equal`), contains one of them (`element`), begins with one (`prefix`), or is in one (`cidr`).
 */
export interface Atom {
  readonly kind: 'equal' | 'element' | 'prefix' | 'cidr'
  readonly subject: Subject
  readonly keys: readonly Value[]
}

/** An attribute, shared by many rules. */
export interface Subject {
  readonly path: string
  readonly term: Term
}

/** `a || b` is equivalent to two rules, `a && b` to a list of conjuncts. */
export function operands(term: Term, kind: 'and' | 'or'): readonly Term[] {
  if (term.kind !== kind) return [term]
  return [...operands(term.left, kind), ...operands(term.right, kind)]
}

/** `undefined` if a term is missing, since the conjunct is then the whole rule. */
export function conjunction(terms: readonly (Term | undefined)[]): Term | undefined {
  return terms.reduce((left, right) => {
    if (left === undefined || right === undefined) return undefined
    return { kind: 'and', left, right, type: BOOL, start: left.start, end: right.end }
  })
}

export function atomOf(term: Term): Atom | undefined {
  switch (term.kind) {
    case 'equal':
      if (term.negated) return undefined
      return equality(term.left, term.right) ?? equality(term.right, term.left)
    case 'member':
      return membership(term.element, term.container)
    case 'call':
      return callAtom(term)
    case 'loop':
      return term.macro === 'exists' && term.second === undefined
        ? existence(term.range, term.first.slot, term.body)
        : undefined
    default:
      return undefined
  }
}

function atom(kind: Atom['kind'], term: Term, keys: readonly Value[]): Atom | undefined {
  const path = pathOf(term)
  return path === undefined ? undefined : { kind, subject: { path, term }, keys }
}

function equality(subject: Term, constant: Term): Atom | undefined {
  if (constant.kind !== 'constant') return undefined
  const { value } = constant
  if (value instanceof Ip)
    return subject.type.kind === 'ip' ? atom('cidr', subject, [single(value)]) : undefined
  return isIdentity(value, subject) ? atom('equal', subject, [value]) : undefined
}

function membership(element: Term, container: Term): Atom | undefined {
  if (container.kind === 'constant' && Array.isArray(container.value)) {
    const values = container.value as readonly Value[]
    if (element.type.kind === 'ip') {
      const isAll = values.every((value) => value instanceof Ip)
      return isAll
        ? atom(
            'cidr',
            element,
            values.map((value) => single(value as Ip)),
          )
        : undefined
    }
    return values.every((value) => isIdentity(value, element))
      ? atom('equal', element, values)
      : undefined
  }
  if (element.kind !== 'constant' || typeof element.value !== 'string') return undefined
  return holdsText(container) ? atom('element', container, [element.value]) : undefined
}

/** `list.exists(x, x == 'a')` and `list.exists(x, x in ['a', 'b'])` */
function existence(range: Term, slot: number, body: Term): Atom | undefined {
  if (!holdsText(range)) return undefined
  const isElement = (term: Term) => term.kind === 'local' && term.slot === slot
  if (body.kind === 'equal' && !body.negated) {
    const [own, other] = isElement(body.left) ? [body.left, body.right] : [body.right, body.left]
    const isText = isElement(own) && other.kind === 'constant' && typeof other.value === 'string'
    return isText ? atom('element', range, [other.value]) : undefined
  }
  if (body.kind !== 'member' || !isElement(body.element) || body.container.kind !== 'constant')
    return undefined
  const values = body.container.value
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string'))
    return undefined
  return atom('element', range, values)
}

/** Elements are compared by identity: JSON, or a list of strings. */
function holdsText({ type }: Term): boolean {
  return type.kind === 'json' || (type.kind === 'list' && type.element.kind === 'string')
}

function callAtom({ name, args }: CallTerm): Atom | undefined {
  const [first, second] = args
  if (first === undefined || second === undefined || args.length !== 2) return undefined
  if (name === 'startsWith' && second.kind === 'constant' && typeof second.value === 'string') {
    const isText = first.type.kind === 'string' || first.type.kind === 'json'
    return isText ? atom('prefix', first, [second.value]) : undefined
  }
  if (name === 'containsIP' && first.kind === 'constant' && first.value instanceof Cidr) {
    return second.type.kind === 'ip' ? atom('cidr', second, [first.value]) : undefined
  }
  return undefined
}

function single(ip: Ip): Cidr {
  return new Cidr(ip, ip.family === 4 ? 32 : 128)
}
