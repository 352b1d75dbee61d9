import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newBody, responds, says } from '../../../test/proxy/processor.ts'
import {
  draftOf,
  HEADERS,
  type Settings,
  startProcessing,
} from '../../../test/proxy/scripted-processor.ts'

describe('the response that a service processes', () => {
  const BOTH = { options: { requestBodyMode: 'none', responseBodyMode: 'buffered' } }
  const begun = async (settings: Settings = BOTH) => {
    const one = startProcessing(settings)
    assert.equal(await one.request(HEADERS), undefined)
    assert.deepEqual(one.log, [])
    one.sent.length = 0
    return one
  }
  const RESPONSE = says('responseHeaders')

  it('has its headers and its whole body changed', async () => {
    const one = await begun()
    const draft = draftOf()
    const change = says('responseHeaders', { set: { ':status': '203', 'x-a': 'b' } })
    assert.equal(await one.response(draft, change), undefined)
    assert.deepEqual([draft.status, draft.edit.added], [203, [['x-a', 'b']]])
    const more = says('responseBody', { set: { 'x-c': 'd' }, bodyMutation: newBody('xyz') })
    assert.equal(await one.body('abc', draft, more), 'xyz')
    assert.deepEqual(one.sent, ['responseHeaders', 'responseBody abc END'])
    assert.deepEqual(draft.edit.added.at(-1), ['x-c', 'd'])
    assert.deepEqual(one.log, ['ended'])
  })

  for (const [what, more, text, ends] of [
    ['without a body', { hasBody: false }, 'responseHeaders END', ['ended']],
    ['with an empty body', { length: 0 }, 'responseHeaders END', ['ended']],
    ['with a body', { length: 1 }, 'responseHeaders', []],
    ['with a body of unknown length', {}, 'responseHeaders', []],
  ] as const) {
    it(`${what}: ${text}`, async () => {
      const one = await begun()
      await one.response(draftOf(more), RESPONSE)
      assert.deepEqual([one.sent, one.log], [[text], ends])
      const streamed = await begun({ options: { requestBodyMode: 'none' } })
      await streamed.response(draftOf(more), RESPONSE)
      assert.equal(streamed.processing.streamsResponse(draftOf(more)), ends.length === 0)
    })
  }

  it('that the gateway generated is not processed, and ends the stream', async () => {
    const one = await begun()
    assert.equal(await one.response(draftOf({ isOwn: true })), undefined)
    assert.deepEqual([one.sent, one.log], [[], ['stopped']])
    assert.equal(await one.body('abc', draftOf()), undefined)
    assert.deepEqual(one.sent, [])
  })

  it('without body, or with a body that is not sent, is unchanged', async () => {
    const one = await begun()
    await one.response(draftOf(), RESPONSE)
    assert.equal(await one.body('', draftOf()), undefined)
    assert.equal(await one.body('abc', draftOf({ isOwn: true })), undefined)
    const none = await begun({ options: { requestBodyMode: 'none', responseBodyMode: 'none' } })
    await none.response(draftOf(), RESPONSE)
    assert.deepEqual(none.log, ['ended'])
    assert.equal(await none.body('abc', draftOf()), undefined)
    assert.deepEqual(none.sent, ['responseHeaders'])
  })

  for (const [what, reply, detail] of [
    ['breaks off', 'reset', '500 reset'],
    [
      'sends an invalid status',
      says('responseHeaders', { set: { ':status': '99' } }),
      '500 :status cannot be changed',
    ],
    [
      'sends a body too early',
      says('responseHeaders', { bodyMutation: newBody('x') }),
      '500 the service changed a body that it was not sent',
    ],
    [
      'replaces it too early',
      says('responseHeaders', { status: 1 }),
      '500 the service changed a body that it was not sent',
    ],
    ['replaces it altogether', responds(418, 'x'), '418 because'],
  ] as const) {
    it(`fails if the service ${what}`, async () => {
      const one = await begun()
      assert.equal(await one.response(draftOf(), reply), detail)
      assert.deepEqual(one.log, ['stopped'])
    })
  }

  for (const [what, reply, detail] of [
    ['breaks off', 'reset', '500 reset'],
    [
      'sends an invalid status',
      says('responseBody', { set: { ':x': '99' } }),
      '500 :x cannot be changed',
    ],
    ['replies to another phase', RESPONSE, '500 unexpected responseHeaders, expected responseBody'],
    ['replaces it altogether', responds(418, 'x'), '418 because'],
  ] as const) {
    it(`fails if the service ${what} at the body`, async () => {
      const one = await begun()
      const draft = draftOf()
      await one.response(draft, RESPONSE)
      assert.equal(await one.body('abc', draft, reply), detail)
      assert.deepEqual(one.log, ['stopped'])
    })
  }
})
