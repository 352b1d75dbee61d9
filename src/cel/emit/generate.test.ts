import assert from 'node:assert/strict'
import { it } from 'node:test'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'

it('runs expressions of ever new shapes, as code or as closures', () => {
  const claims = (n: number) => ({ jwt: { [`claim${n}`]: 'x' } })
  for (let n = 0; n < 2_500; n++) {
    const { expression } = compile(`jwt.claim${n} == 'x'`, STAGES.traffic)
    assert.equal(expression?.predicate()(claims(n)), true)
    assert.equal(expression?.predicate()(claims(n + 1)), false)
  }
})
