import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exactJson } from '../../cel/values/json-exact.ts'
import { withoutConsent } from './consent.ts'
import { type ClientMessage, readMessage } from './message.ts'

function messageOf(params: string): ClientMessage {
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
  const message = readMessage(Buffer.from(text))
  assert.ok(typeof message !== 'string')
  return message
}

describe('integers beyond 2^53 from clients', () => {
  it('are forwarded verbatim', () => {
    const text =
      '{"capabilities":{"experimental":{"x":{"n":9007199254740993,"m":[-9007199254740993]}}}}'
    assert.equal(exactJson(messageOf(text).params), text)
  })

  it('do not fail a request with a consent', () => {
    const params = '{"inputResponses":{"portcullis-consent":{},"own":{"n":9007199254740993}}}'
    assert.equal(withoutConsent(messageOf(params)), '{"own":{"n":9007199254740993}}')
  })
})
