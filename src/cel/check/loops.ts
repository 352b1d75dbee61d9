import type { Comprehension, Macro } from '../syntax/ast.ts'
import { ENTRY_VALUE } from '../syntax/macros.ts'
import type { Checker } from './check.ts'
import { rangeTypes } from './shapes.ts'
import type { LocalTerm, Term } from './term.ts'
import { isDeclared } from './trusted-types.ts'
import * as T from './types.ts'

const TESTS = new Set<Macro>(['all', 'exists', 'existsOne', 'filter'])

/** Checks a macro over a list or a map. */
export function checkLoop(checker: Checker, expr: Comprehension): Term {
  const { start, end, macro } = expr
  const range = checker.check(expr.range)
  const [firstType, secondType] = rangeTypes(checker, range, expr.second !== undefined)
  const isTrusted = isDeclared(range)
  const trust = { known: isTrusted, declared: isTrusted }
  return checker.scoped(expr.first, firstType, trust, expr, (first) => {
    const inner = (second: LocalTerm | undefined): Term => {
      const tested = expr.second === ENTRY_VALUE ? 'filterKeys' : macro
      const filter = expr.filter && checker.condition(expr.filter, tested)
      const body = TESTS.has(macro) ? checker.condition(expr.body, macro) : checker.check(expr.body)
      const type = resultType(checker, macro, firstType, range, body)
      return { kind: 'loop', macro, range, first, second, filter, body, type, start, end }
    }
    if (expr.second === undefined) return inner(undefined)
    return checker.scoped(expr.second, secondType, trust, expr, inner)
  })
}

function resultType(
  checker: Checker,
  macro: Macro,
  element: T.Type,
  range: Term,
  body: Term,
): T.Type {
  switch (macro) {
    case 'all':
    case 'exists':
    case 'existsOne':
      return T.BOOL
    case 'filter':
      return T.listOf(element)
    case 'map':
    case 'transformList':
      return T.listOf(body.type)
    case 'transformMap': {
      const known = checker.types.shallow(range.type)
      if (known.kind === 'map') return T.mapOf(known.key, body.type)
      return T.mapOf(T.isDynamic(known) ? T.DYN : T.INT, body.type)
    }
    case 'transformMapEntry': {
      const known = checker.types.shallow(body.type)
      if (known.kind === 'map') return known
      if (!T.isDynamic(known)) {
        const message = 'transformMapEntry requires a map'
        checker.report('PC0106', body, message, 'use {key: value}')
      }
      return T.mapOf(T.DYN, T.DYN)
    }
  }
}
