import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VARIABLES } from '../../../test/fuzz/cel-values.ts'
import { compile } from '../compile.ts'
import { environment } from '../environment.ts'
import { showType } from './unify.ts'

const ENVIRONMENT = environment({
  name: 'types',
  variables: Object.entries(VARIABLES).map(([name, { type }]) => ({
    name,
    type,
    set: 'always',
    doc: '',
  })),
})

/** i is an int, s a string, t a timestamp, li and ls are lists, m is a map, j holds claims. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  'an element type that nothing determines is dyn': [
    '[] | list(dyn)',
    '{} | map(dyn, dyn)',
    '[[]] | list(list(dyn))',
    "{'a': []} | map(string, list(dyn))",
    'optional.none() | optional(dyn)',
    'optional.of({}) | optional(map(dyn, dyn))',
    'type([]) | type(list(dyn))',
    '[] + [] | list(dyn)',
  ],
  'an element type is determined by any other use': [
    'p ? [] : [1] | list(int)',
    'p ? {} : m | map(string, int)',
    'li + [] | list(int)',
    '[li, []] | list(list(int))',
    "[{}, {'a': 1}] | list(map(string, int))",
    'cel.bind(x, [], x + [1]) | list(int)',
    'optional.of(1).or(optional.none()) | optional(int)',
    'optional.none().or(optional.of(1)) | optional(int)',
    'p ? optional.none() : optional.of(s) | optional(string)',
  ],
  'different types have dyn in common': [
    '[1, 2u] | list(dyn)',
    '[1, null] | list(dyn)',
    '[li, ls] | list(dyn)',
    '[dyn(1), 2] | list(dyn)',
    '[j, m] | list(map(string, dyn))',
    'm.merge(j) | map(string, dyn)',
    'p ? 1 : dyn(2) | dyn',
    'coalesce(i, s) | dyn',
  ],
  'null is accepted for an object, at any depth': [
    '[t, null] | list(timestamp)',
    '[null, t] | list(timestamp)',
    "[{'a': t}, {'a': null}] | list(map(string, timestamp))",
    '[optional.of(t), optional.of(null)] | list(optional(timestamp))',
  ],
  'the result of a generic function has the types of its arguments': [
    'type(1) | type(int)',
    'type(j.a) | type(dyn)',
    'type(type(1)) | type(type(int))',
    '[type(i)] | list(type(int))',
    '{1: type(s)} | map(int, type(string))',
    'optional.of(type(1)) | optional(type(int))',
    'li.map(i, [i]) | list(list(int))',
    'li.map(i, type(i)) | list(type(int))',
    'm.mapValues(i, string(i)) | map(string, string)',
    'm.merge(m) | map(string, int)',
    'ls.filter(s, p).first() | optional(string)',
    'optional.of(1).orValue(2) | int',
  ],
}

describe('the type of an expression', () => {
  for (const [title, cases] of Object.entries(TYPES)) {
    it(title, () => {
      const found = cases.map((line) => {
        const text = line.slice(0, line.indexOf(' | '))
        const { expression } = compile(text, ENVIRONMENT)
        return `${text} | ${expression && showType(expression.type)}`
      })
      assert.deepEqual(found, cases)
    })
  }
})
