import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TOKEN_FAULTS } from '../policies/jwt-authentication/rejection.ts'
import { authenticationFailures } from '../telemetry/definitions/authorization.ts'

describe('the metric of failed authentications', () => {
  it('has a label value for each token fault', () => {
    const reasons = authenticationFailures.labels.find(({ name }) => name === 'reason')
    const known: readonly string[] = reasons?.values ?? []
    assert.deepEqual(
      TOKEN_FAULTS.filter((fault) => !known.includes(fault)),
      [],
    )
  })
})
