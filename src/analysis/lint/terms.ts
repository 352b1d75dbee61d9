import { children, type Term } from '../../cel/check/term.ts'
import { type Attribute, attributeOf, attributesOf, leafOf } from '../symbolic/leaves.ts'

/** Every term of an expression, the outer ones first. */
export function* termsOf(term: Term): Generator<Term> {
  yield term
  for (const child of children(term)) yield* termsOf(child)
}

export interface SignedLeaf {
  readonly term: Term
  /** Whether the whole expression needs it to be true or false. */
  readonly wanted: boolean
}

/** The conditions of an expression, each with the value it needs for the expression to be true. */
export function* signedLeaves(term: Term, wanted = true): Generator<SignedLeaf> {
  switch (term.kind) {
    case 'constant':
      return
    case 'not':
      yield* signedLeaves(term.operand, !wanted)
      return
    case 'and':
    case 'or':
      yield* signedLeaves(term.left, wanted)
      yield* signedLeaves(term.right, wanted)
      return
    case 'conditional':
      yield* signedLeaves(term.whenTrue, wanted)
      yield* signedLeaves(term.whenFalse, wanted)
      return
    default:
      yield { term, wanted }
  }
}

/** The attribute that a condition is about, if it is only about one. */
export function subjectOf(term: Term): Attribute | undefined {
  const leaf = leafOf(term)
  if (leaf.kind !== 'opaque') return leaf.attribute
  return leaf.attributes.length === 1 ? leaf.attributes[0] : undefined
}

/** The attribute that `has(x.y)`, or `'y' in x` for a map, tests. */
export function testedBy(term: Term): Attribute | undefined {
  if (term.kind === 'field' && term.access === 'test') return attributesOf(term)[0]
  if (term.kind !== 'member' || term.container.type.kind !== 'map') return undefined
  const leaf = leafOf(term)
  return leaf.kind === 'plain' ? leaf.attribute : undefined
}

/** `x` of `request.headers['x']`. */
export function headerOf(term: Term): string | undefined {
  const steps = attributeOf(term)?.steps ?? testedBy(term)?.steps
  if (steps?.length !== 3 || steps[0] !== 'request' || steps[1] !== 'headers') return undefined
  return steps[2]
}

/** `group` of `jwt.group`, anywhere in the expression. */
export function claimOf(term: Term): string | undefined {
  const steps = claimPathOf(term)
  return steps?.length === 1 ? steps[0] : undefined
}

/** `realm_access`, `roles` of `jwt.realm_access.roles`, whether it is read or tested. */
export function claimPathOf(term: Term): readonly string[] | undefined {
  const [variable, ...path] = attributeOf(term)?.steps ?? testedBy(term)?.steps ?? []
  return variable === 'jwt' && path.length > 0 ? path : undefined
}
