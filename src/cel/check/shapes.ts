import { nearest } from '../../diagnostics/nearest.ts'
import type { Span } from '../syntax/ast.ts'
import { article, fieldHint } from './hints.ts'
import type { Term } from './term.ts'
import * as T from './types.ts'
import type { Typing } from './typing.ts'
import { showType } from './unify.ts'

/** The type of `operand.field`. */
export function fieldType(typing: Typing, operand: Term, field: string, at: Span): T.Type {
  const outer = typing.types.shallow(operand.type)
  const known = outer.kind === 'optional' ? typing.types.shallow(outer.element) : outer
  switch (known.kind) {
    case 'dyn':
    case 'json':
      return known
    case 'param':
      return typing.types.unknown()
    case 'map':
      if (!typing.types.assignable(T.STRING, known.key)) {
        typing.report(
          'PC0111',
          at,
          `the keys of this map are of type ${showType(known.key)}, not field names`,
          `use [${field}]`,
        )
      }
      return known.value
    case 'struct': {
      const declared = known.fields.get(field)
      if (declared !== undefined) return declared.type
      const near = nearest(field, known.fields.keys())
      const all = [...known.fields.keys()].join(', ')
      const hint =
        near === undefined ? `available fields: ${all}` : `did you mean \`${known.name}.${near}\`?`
      typing.report('PC0111', at, `unknown field \`${field}\` of \`${known.name}\``, hint)
      return T.DYN
    }
    default:
      typing.report(
        'PC0111',
        at,
        `${article(showType(known))} has no fields; \`${field}\` cannot be selected`,
        fieldHint(operand, field),
      )
      return T.DYN
  }
}

/** The type of `operand[index]`. */
export function indexType(
  typing: Typing,
  operand: Term,
  index: Term,
  optional: boolean,
  at: Span,
): T.Type {
  const outer = typing.types.shallow(operand.type)
  const known = outer.kind === 'optional' ? typing.types.shallow(outer.element) : outer
  const element = elementType(typing, known, index, at)
  return optional || outer.kind === 'optional' ? T.optionalOf(element) : element
}

function elementType(typing: Typing, known: T.Type, index: Term, at: Span): T.Type {
  switch (known.kind) {
    case 'dyn':
    case 'json':
      return known
    case 'param':
      return typing.types.unknown()
    case 'list':
      if (!typing.types.assignable(index.type, T.INT)) {
        typing.report(
          'PC0106',
          index,
          `a list index must be an int, found ${showType(typing.types.resolve(index.type))}`,
        )
      }
      return known.element
    case 'map':
      if (!typing.types.assignable(index.type, known.key)) {
        const [got, wanted] = [index.type, known.key].map((type) =>
          showType(typing.types.resolve(type)),
        )
        typing.report('PC0106', index, `the keys of this map are of type ${wanted}, found ${got}`)
      }
      return known.value
    default:
      typing.report('PC0106', at, `${article(showType(known))} cannot be indexed`)
      return T.DYN
  }
}

/** The types of a macro's variables: element; with `two`, index and element or key and value. */
export function rangeTypes(typing: Typing, range: Term, two: boolean): readonly [T.Type, T.Type] {
  const known = typing.types.shallow(range.type)
  switch (known.kind) {
    case 'json':
      return [known, known]
    case 'dyn':
    case 'param':
      return [T.DYN, T.DYN]
    case 'list':
      return two ? [T.INT, known.element] : [known.element, T.DYN]
    case 'map':
      return [known.key, known.value]
    default:
      typing.report('PC0106', range, `a macro requires a list or a map, found ${showType(known)}`)
      return [T.DYN, T.DYN]
  }
}
