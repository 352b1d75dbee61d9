import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokenReviews } from './token-review.ts'

const ACCOUNT = 'system:serviceaccount:shop:web'

describe('the Gateway of a token', () => {
  const gatewayOf = (namespace: string, account: string) =>
    namespace === 'shop' && account === 'web' ? 'shop/web' : undefined
  const review = (status: number, body: unknown) => {
    const sent: unknown[] = []
    const request = async (...all: unknown[]) => {
      sent.push(...all)
      return { status, body }
    }
    return { sent, outcome: tokenReviews({ request }, gatewayOf)('t') }
  }
  const reviewed = (fields: object) => ({
    status: {
      authenticated: true,
      audiences: ['portcullis'],
      user: { username: ACCOUNT },
      ...fields,
    },
  })

  for (const [what, status, body, outcome] of [
    ['of a Gateway', 201, reviewed({}), { gateway: 'shop/web' }],
    ['that is not valid', 201, reviewed({ authenticated: false }), { rejected: 'invalid-token' }],
    ['without a verdict', 201, {}, { rejected: 'invalid-token' }],
    ['for another audience', 201, reviewed({ audiences: ['api'] }), { rejected: 'wrong-audience' }],
    [
      'without an audience',
      201,
      reviewed({ audiences: undefined }),
      { rejected: 'wrong-audience' },
    ],
    [
      'of another account',
      201,
      reviewed({ user: { username: 'system:serviceaccount:shop:other' } }),
      { rejected: 'unknown-gateway' },
    ],
    [
      'of the same account elsewhere',
      201,
      reviewed({ user: { username: 'system:serviceaccount:other:web' } }),
      { rejected: 'unknown-gateway' },
    ],
    ['of a person', 201, reviewed({ user: { username: 'web' } }), { rejected: 'unknown-gateway' }],
    [
      'of somebody with a similar name',
      201,
      reviewed({ user: { username: `x${ACCOUNT}` } }),
      { rejected: 'unknown-gateway' },
    ],
    ['that could not be reviewed', 403, {}, { rejected: 'review-failed' }],
  ] as const) {
    it(`a token ${what}`, async () => {
      assert.deepEqual(await review(status, body).outcome, outcome)
    })
  }

  it('sends this audience in the review', async () => {
    const { sent, outcome } = review(201, reviewed({}))
    await outcome
    assert.deepEqual(sent[2], {
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: 't', audiences: ['portcullis'] },
      },
    })
  })
})
