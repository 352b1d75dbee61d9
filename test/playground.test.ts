import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, SAMPLE_RULES } from '../site/playground/decide.ts'
import { evaluate } from '../site/playground/evaluate.ts'
import { SAMPLE_REQUEST } from '../site/playground/request.ts'

describe('the playground of the documentation', () => {
  for (const [text, isGood, result] of [
    ["request.method == 'GET'", true, 'true'],
    ['request.path', true, "'/orders'"],
    ['request.query', true, "'limit=10'"],
    ["cidr('10.0.0.0/8').containsIP(source.address)", true, 'true'],
    ["jwt.scopes.exists(s, s == 'orders:read')", true, 'true'],
    ['jwt.missing', false, 'Error: `jwt.missing` is missing'],
    ['apiKey.team', false, 'Error: `apiKey` is not set'],
    ['requst.path', false, 'Rejected'],
    ["request.headers.raw()['x-team']", true, "['orders']"],
  ] as const) {
    it(`${text}: ${result}`, () => {
      const evaluated = evaluate(text, SAMPLE_REQUEST)
      assert.deepEqual([evaluated.isGood, evaluated.result], [isGood, result])
    })
  }

  it('states the reason', () => {
    assert.deepEqual(
      evaluate("jwt.team == 'x' || request.method == 'GET'", SAMPLE_REQUEST).details,
      [
        "jwt.team == 'x' is false: jwt.team is 'orders'",
        "request.method == 'GET' is true: request.method is 'GET'",
      ],
    )
    assert.match(evaluate('requst.path', SAMPLE_REQUEST).details.join(), /PC0103.*request/)
  })

  for (const [what, request] of [
    ['YAML', 'a: [b'],
    ['a mapping', '- a'],
    ['an address', 'source: here'],
  ] as const) {
    it(`says of a request that it is not ${what}`, () => {
      assert.equal(evaluate('true', request).isGood, false)
      assert.equal(decide(SAMPLE_RULES, request).isGood, false)
    })
  }
})

describe('the policy sandbox of the documentation', () => {
  for (const [what, request, result] of [
    ['the sample', SAMPLE_REQUEST, "Allowed: Allow request.method == 'GET'"],
    [
      'a path that is denied',
      SAMPLE_REQUEST.replace('/orders', '/admin/x'),
      "Denied: Deny request.path.startsWith('/admin/')",
    ],
    ['no token', 'method: GET', "Denied: Require jwt.team == 'orders'"],
    ['another method', SAMPLE_REQUEST.replace('GET', 'POST'), 'Denied: no Allow rule matched'],
  ] as const) {
    it(`${what}: ${result}`, () => assert.equal(decide(SAMPLE_RULES, request).result, result))
  }

  it('lists all lint findings, whatever the request', () => {
    assert.deepEqual(decide(SAMPLE_RULES, SAMPLE_REQUEST).findings, [])
    const { findings } = decide("rules: [{ allow: \"jwt.sub == 'a' && jwt.sub == 'b'\" }]", '')
    assert.match(findings.join(), /^AZ\d+: /)
  })

  it('rejects rules that the gateway would reject', () => {
    assert.match(decide('rules: [{ permit: a }]', '').result, /rules/)
    assert.match(decide('rules: [{ allow: requst.path }]', '').details.join(), /PC0103/)
    assert.match(decide('rules: [', '').result, /not valid YAML/)
  })
})
