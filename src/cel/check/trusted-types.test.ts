import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  anyExpression,
  anyGenericCall,
  anyOwnExpression,
} from '../../../test/fuzz/cel-expressions.ts'
import { anyBindings, VARIABLES } from '../../../test/fuzz/cel-values.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { compile } from '../compile.ts'
import { environment } from '../environment.ts'
import type { Explanation } from '../explain/explanation.ts'
import { accepts } from '../values/kind.ts'
import type { Value } from '../values/value.ts'
import { isDeclared, isKnown } from './trusted-types.ts'
import type { Type } from './types.ts'
import { showType } from './unify.ts'

const ENVIRONMENT = environment({
  name: 'trusted',
  variables: Object.entries(VARIABLES).map(([name, { type }]) => ({
    name,
    type,
    set: name === 'unset' ? 'never' : 'always',
    doc: '',
  })),
})

/** Every value of the expression and its parts, with what the checker promises about it. */
function* promised(own: Explanation): Generator<readonly [Explanation, Value]> {
  if (own.value !== undefined) yield [own, own.value]
  for (const part of own.parts) yield* promised(part)
}

/** The declared type of a variable covers everything in it. */
function isWhole(type: Type, value: Value): boolean {
  if (!accepts(type, value)) return false
  if (type.kind === 'list') return (value as Value[]).every((one) => isWhole(type.element, one))
  if (type.kind !== 'map') return true
  return Object.values(value as object).every((one) => isWhole(type.value, one))
}

describe('a static type that is trusted', () => {
  for (const [what, texts] of [
    ['expressions', anyExpression()],
    ['expressions with forms of this CEL only', anyOwnExpression()],
    ['generic calls on values of unknown types', anyGenericCall()],
  ] as const) {
    it(`is the type of the value, in all parts of random ${what}`, () => {
      let trusted = 0
      const property = fc.property(texts, anyBindings(), (text, bindings) => {
        const { expression } = compile(text, ENVIRONMENT, { backend: 'closures' })
        if (expression === undefined) return
        for (const [{ term }, value] of promised(expression.explain(bindings))) {
          if (!isKnown(term)) continue
          trusted++
          const shown = `${text}: ${text.slice(term.start, term.end)} is ${showType(term.type)}`
          assert.ok(accepts(term.type, value), shown)
          if (isDeclared(term)) assert.ok(isWhole(term.type, value), shown)
        }
      })
      fc.assert(property, fuzz(2))
      assert.ok(trusted > 200, `only ${trusted} types were trusted`)
    })
  }
})
