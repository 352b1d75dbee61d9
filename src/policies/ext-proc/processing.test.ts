import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newBody, piece, responds, says } from '../../../test/proxy/processor.ts'
import { draftOf, HEADERS, startProcessing } from '../../../test/proxy/scripted-processor.ts'

const mode = (requestBodyMode: string, more: object = {}) => ({
  options: { requestBodyMode, responseHeaderMode: 'skip', responseBodyMode: 'none', ...more },
})

describe('the request that a service processes', () => {
  for (const [what, settings, replies, sent, replaced] of [
    ['without a body', mode('buffered'), [HEADERS], ['requestHeaders END'], undefined],
    [
      'with a body',
      { ...mode('buffered'), body: 'abc' },
      [HEADERS, says('requestBody')],
      ['requestHeaders', 'requestBody abc END'],
      undefined,
    ],
    [
      'with a body that it replaces',
      { ...mode('buffered'), body: 'abc' },
      [HEADERS, says('requestBody', { bodyMutation: newBody('xyz') })],
      ['requestHeaders', 'requestBody abc END'],
      'xyz',
    ],
    [
      'with a body that it replaces by none',
      { ...mode('buffered'), body: 'abc' },
      [HEADERS, says('requestBody', { bodyMutation: { clearBody: true } })],
      ['requestHeaders', 'requestBody abc END'],
      '',
    ],
    [
      'with a body that it replaces at once',
      { ...mode('buffered'), body: 'abc' },
      [says('requestHeaders', { status: 1, bodyMutation: newBody('x') })],
      ['requestHeaders'],
      'x',
    ],
    [
      'with a body that it removes at once',
      { ...mode('buffered'), body: 'abc' },
      [says('requestHeaders', { status: 1 })],
      ['requestHeaders'],
      '',
    ],
    [
      'with a streamed body',
      { ...mode('fullDuplexStreamed'), body: 'abc' },
      [HEADERS, says('requestBody', { bodyMutation: piece('x', true) })],
      ['requestHeaders', 'requestBody abc END'],
      'x',
    ],
    [
      'with the beginning of a body',
      { ...mode('bufferedPartial'), beginning: 'ab' },
      [HEADERS, says('requestBody')],
      ['requestHeaders', 'requestBody ab'],
      undefined,
    ],
    [
      'without its body',
      { ...mode('none'), body: 'abc' },
      [HEADERS],
      ['requestHeaders END'],
      undefined,
    ],
    [
      'with a body and no headers',
      { ...mode('buffered', { requestHeaderMode: 'skip' }), body: 'abc' },
      [says('requestBody')],
      ['requestBody abc END'],
      undefined,
    ],
  ] as const) {
    it(`${what}: the messages, and what becomes of it`, async () => {
      const one = startProcessing(settings)
      assert.equal(await one.request(...replies), undefined)
      assert.deepEqual([one.sent, one.replaced], [sent, replaced])
      // The stream ends here, because the response is not processed.
      assert.deepEqual(one.log, ['ended'])
      if (replaced !== undefined)
        assert.equal(`${Buffer.from(one.exchange.request.body ?? [])}`, replaced)
    })
  }

  it('tells the service whether a body that it does not get follows', async () => {
    for (const [headers, expected] of [
      [{}, ' END'],
      [{ 'content-length': '0' }, ' END'],
      [{ 'content-length': '3' }, ''],
      [{ 'transfer-encoding': 'chunked' }, ''],
    ] as const) {
      const one = startProcessing({ ...mode('none'), asked: { headers } })
      await one.request(HEADERS)
      assert.deepEqual(one.sent, [`requestHeaders${expected}`])
    }
  })

  it('sends a long streamed body in pieces, and joins what the service sends', async () => {
    const one = startProcessing({ ...mode('fullDuplexStreamed'), body: 'x'.repeat(65_537) })
    const reply = (text: string, end: boolean) =>
      says('requestBody', { bodyMutation: piece(text, end) })
    assert.equal(await one.request(HEADERS, reply('a', false), reply('b', true)), undefined)
    assert.deepEqual(
      one.sent.map((text) => text.length),
      ['requestHeaders'.length, 'requestBody '.length + 65_536, 'requestBody x END'.length],
    )
    assert.equal(one.replaced, 'ab')
  })

  for (const [what, settings, replies, detail] of [
    ['breaks off', mode('none'), ['reset'], 'reset'],
    [
      'replies to another phase',
      mode('none'),
      [says('responseHeaders')],
      'unexpected responseHeaders, expected requestHeaders',
    ],
    [
      'sends an invalid path',
      mode('none'),
      [says('requestHeaders', { set: { ':path': 'x' } })],
      'invalid path',
    ],
    [
      'sends an invalid host',
      mode('none'),
      [says('requestHeaders', { set: { host: 'a b' } })],
      'invalid host',
    ],
    [
      'changes the method',
      mode('none'),
      [says('requestHeaders', { set: { ':method': 'PUT' } })],
      ':method cannot be changed',
    ],
    ['breaks off at the body', { ...mode('buffered'), body: 'a' }, [HEADERS, 'reset'], 'reset'],
    [
      'sends an invalid path at the body',
      { ...mode('buffered'), body: 'a' },
      [HEADERS, says('requestBody', { set: { ':path': 'x' } })],
      'invalid path',
    ],
    [
      'replaces the beginning of a body',
      { ...mode('bufferedPartial'), beginning: 'ab' },
      [HEADERS, says('requestBody', { bodyMutation: newBody('x') })],
      'a partially buffered body cannot be changed',
    ],
  ] as const) {
    it(`fails if the service ${what}, or continues if so configured`, async () => {
      const closed = startProcessing(settings)
      assert.equal(await closed.request(...replies), `500 ${detail}`)
      assert.deepEqual(closed.log, ['stopped'])
      const open = startProcessing({ ...settings, isOpen: true })
      assert.equal(await open.request(...replies), undefined)
      assert.deepEqual([open.log, open.replaced], [['stopped'], undefined])
      assert.equal(await open.response(draftOf()), undefined)
      assert.equal(open.sent.filter((text) => text.startsWith('response')).length, 0)
    })
  }

  it('has the response of the service instead, in each phase', async () => {
    const first = startProcessing({ ...mode('buffered'), body: 'a' })
    assert.equal(await first.request(responds(451, 'no')), '451 because')
    const second = startProcessing({ ...mode('buffered'), body: 'a' })
    assert.equal(await second.request(HEADERS, responds(302, '')), '302 because')
    assert.deepEqual([first.log, second.log], [['stopped'], ['stopped']])
  })

  it('with a body that is too long for the mode is rejected', async () => {
    for (const own of ['buffered', 'fullDuplexStreamed']) {
      assert.equal(await startProcessing({ ...mode(own), beginning: 'ab' }).request(), '413')
    }
  })
})

describe('modes that a service overrides', () => {
  // Of the protocol: 1 sends headers, 2 skips them; bodies: 0 none, 2 buffered, 4 streamed.
  const override = (own: object) => says('requestHeaders', { modeOverride: own })
  const options = {
    requestBodyMode: 'buffered',
    responseBodyMode: 'buffered',
    allowModeOverride: true,
  }

  for (const [what, own, more, sent, result] of [
    [
      'skips the body',
      { requestBodyMode: 0, responseBodyMode: 2 },
      {},
      ['requestHeaders'],
      undefined,
    ],
    [
      'keeps the body',
      { requestBodyMode: 2, responseBodyMode: 2 },
      {},
      ['requestHeaders', 'requestBody a END'],
      undefined,
    ],
    [
      'may not skip it',
      { requestBodyMode: 0 },
      { allowModeOverride: false },
      ['requestHeaders', 'requestBody a END'],
      undefined,
    ],
    [
      'wants another mode',
      { requestBodyMode: 4 },
      {},
      ['requestHeaders'],
      '500 the service requested a body mode that is not configured',
    ],
    [
      'wants another mode of the response',
      { requestBodyMode: 2, responseBodyMode: 4 },
      {},
      ['requestHeaders'],
      '500 the service requested a body mode that is not configured',
    ],
    [
      'wants headers of the response',
      { requestBodyMode: 2, responseBodyMode: 2, responseHeaderMode: 1 },
      { responseHeaderMode: 'skip' },
      ['requestHeaders'],
      '500 the service requested a header mode that is not configured',
    ],
  ] as const) {
    it(`a service that ${what}`, async () => {
      const one = startProcessing({ options: { ...options, ...more }, body: 'a' })
      assert.equal(await one.request(override(own), says('requestBody')), result)
      assert.deepEqual(one.sent, sent)
    })
  }

  it('a service that skips the whole response', async () => {
    const one = startProcessing({ options, body: 'a' })
    const skip = { requestBodyMode: 2, responseBodyMode: 0, responseHeaderMode: 2 }
    assert.equal(await one.request(override(skip), says('requestBody')), undefined)
    assert.deepEqual(one.log, ['ended'])
    assert.equal(await one.response(draftOf()), undefined)
    assert.equal(await one.body('abc', draftOf()), undefined)
    assert.deepEqual(one.sent, ['requestHeaders', 'requestBody a END'])
  })
})
