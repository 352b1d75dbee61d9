import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recognizeEndpoint } from './index.ts'
import { call, chat, decode, message, translated, user } from './testdata/probe.ts'

describe('requests with state', () => {
  for (const [client, body] of [
    ['responses', { model: 'm', input: 'hi', previous_response_id: 'resp_1' }],
    ['responses', { model: 'm', input: 'hi', conversation: 'conv_1' }],
    ['responses', { model: 'm', input: 'hi', background: true }],
    ['responses', { model: 'm', prompt: { id: 'p' } }],
    ['responses', { model: 'm', input: [{ type: 'item_reference', id: 'i' }] }],
    ['responses', { model: 'm', input: [user([{ type: 'input_file', file_id: 'f' }])] }],
    ['messages', message({ container: 'c' })],
    ['completions', chat({ messages: [user([{ type: 'file', file: { file_id: 'f' } }])] })],
    ['completions', chat({ functions: [] })],
  ] as const) {
    it(`${client}: ${JSON.stringify(body)} is rejected with 400`, () => {
      for (const provider of [
        'completions',
        'responses',
        'messages',
        'gemini',
        'converse',
      ] as const) {
        if (provider === client) continue
        const found = call(client, provider, body)
        assert.ok(!found.ok && found.error.status === 400, provider)
      }
    })
  }

  it('are forwarded byte for byte if both ends use one dialect', () => {
    const body = '{ "model": "m", "previous_response_id":"resp_1", "top_p": 1.0, "x": 1e2 }'
    assert.equal(decode(translated('responses', 'responses', body).request.body), body)
    const renamed = translated('responses', 'responses', body, { model: 'n' }).request.body
    assert.equal(decode(renamed), body.replace('"m"', '"n"'))
  })
})

describe('invalid or ambiguous requests', () => {
  for (const [what, body] of [
    ['a model named twice', '{"model":"a","model":"b","messages":[]}'],
    ['a model named twice by an escape', '{"model":"a","mod\\u0065l":"b","messages":[]}'],
    ['a model that is no string', '{"model":["a"],"messages":[]}'],
    ['no model', '{"messages":[]}'],
    ['no JSON', '{"model":"a",}'],
    ['a byte order mark', '\ufeff{"model":"a","messages":[]}'],
    ['a list', '[]'],
    ['a depth of 1000', `{"model":"a","messages":${'['.repeat(1000)}${']'.repeat(1000)}}`],
  ] as const) {
    it(`${what} is rejected with 400, translated or not`, () => {
      for (const provider of ['completions', 'messages'] as const) {
        const found = call('completions', provider, body)
        assert.ok(!found.ok && found.error.status === 400, provider)
      }
    })
  }

  it('rejects a model that would change the path', () => {
    for (const model of ['../../v1/files', 'a/b', 'a?b', '..', 'a:b', 'ä']) {
      const found = call('completions', 'gemini', chat({ model }))
      assert.ok(!found.ok, model)
    }
    const dots = call('completions', 'converse', chat({ model: '..' }))
    assert.ok(!dots.ok)
    assert.equal(recognizeEndpoint('POST', '/model/%2e%2e/converse'), undefined)
    const { path } = translated('completions', 'converse', chat({ model: '../x?y' })).request
    assert.equal(path, '/model/..%2Fx%3Fy/converse')
  })
})
