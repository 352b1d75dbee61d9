import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonical } from '../../../test/conformance/canonical.ts'
import { NETWORK_CASES } from '../../../test/oracle/network-cases.ts'
import type { Expr } from '../syntax/ast.ts'
import { parse } from '../syntax/parse.ts'
import { equals } from '../values/equal.ts'
import { failure } from '../values/failure.ts'
import { parseIp } from '../values/ip.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import type { Overload } from './define.ts'
import { dispatch } from './dispatch.ts'
import { NETWORK } from './network.ts'
import { isIn } from './operators.ts'
import { STANDARD } from './standard.ts'

describe('addresses and ranges behave as in cel-go', () => {
  for (const [expression, expected] of NETWORK_CASES) {
    it(`${expression} is ${expected}`, () => {
      const { expr } = parse(expression)
      assert.equal(canonical(expr && evaluate(expr)), expected)
    })
  }
})

describe('a constant string', () => {
  for (const [name, constants, args, expected] of [
    ['ip', ['10.0.0.7'], [], 'ip 10.0.0.7'],
    ['cidr', ['10.0.0.0/8'], [], 'cidr 10.0.0.0/8'],
    ['containsIP', [undefined, '10.0.0.7'], ["cidr('10.0.0.0/8')"], 'true'],
    ['containsCIDR', [undefined, '10.0.0.0/7'], ["cidr('10.0.0.0/8')"], 'false'],
  ] as const) {
    it(`is read once for ${name}`, () => {
      const prepared = preparedFor(name, constants)
      assert.equal(canonical(prepared?.(...args.map(read))), expected)
    })
  }

  for (const [name, constants, reason] of [
    ['ip', ['10.0.0.0/8'], 'invalid IP address'],
    ['cidr', ['10.0.0.7'], 'invalid CIDR'],
    ['containsIP', [undefined, '010.0.0.7'], 'invalid IP address'],
    ['containsCIDR', [undefined, '10.0.0.7'], 'invalid CIDR'],
    ['ip', [undefined], ''],
    ['containsIP', [undefined, undefined], ''],
  ] as const) {
    it(`${constants.at(-1) ?? '(none)'} prepares nothing for ${name}: ${reason || 'no reason'}`, () => {
      failure.reason = ''
      assert.equal(preparedFor(name, constants), undefined)
      assert.equal(failure.reason, reason)
    })
  }
})

describe('an address and its string, unlike in cel-go,', () => {
  it('are equal', () => {
    assert.ok(equals(parseIp('10.0.0.7') as Value, '10.0.0.7'))
    assert.equal(isIn('2001:DB8::1', [parseIp('2001:db8::1') as Value]), true)
  })
})

function preparedFor(name: string, constants: readonly (Value | undefined)[]) {
  const overload = overloadsOf(name).find((o) => o.params.at(-1)?.kind === 'string')
  return overload?.prepare?.(constants)
}

function overloadsOf(name: string): readonly Overload[] {
  return [...STANDARD.functions, ...NETWORK.functions]
    .filter((declaration) => declaration.name === name)
    .flatMap((declaration) => declaration.overloads)
}

function read(expression: string): Value | undefined {
  const { expr } = parse(expression)
  return expr && evaluate(expr)
}

/** Evaluates as much of the language as the cases need, using only the functions of the engine. */
function evaluate(expr: Expr): Value | undefined {
  if (expr.kind === 'literal') return expr.value
  if (expr.kind === 'list') return all(expr.elements.map(({ value }) => value))
  if (expr.kind === 'select' && expr.operand.kind === 'ident') {
    return new TypeValue(`${expr.operand.name}.${expr.field}`)
  }
  assert.equal(expr.kind, 'call')
  const spaced = expr.target?.kind === 'ident' ? expr.target : undefined
  const target = spaced === undefined && expr.target ? [expr.target] : []
  const args = all([...target, ...expr.args])
  if (args === undefined) return undefined
  const [a, b] = args as [Value, Value]
  if (expr.name === '_==_') return equals(a, b)
  if (expr.name === '_!=_') return !equals(a, b)
  if (expr.name === '@in') return isIn(a, b)
  const name = spaced === undefined ? expr.name : `${spaced.name}.${expr.name}`
  const receiver = target.length > 0
  return dispatch(
    overloadsOf(name).filter((overload) => overload.receiver === receiver),
    args,
  )
}

function all(exprs: readonly Expr[]): readonly Value[] | undefined {
  const values = exprs.map(evaluate)
  return values.every((value) => value !== undefined) ? values : undefined
}
