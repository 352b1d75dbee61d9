import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import fc from 'fast-check'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { decodeEnvoy, encodeEnvoy } from '../../../test/proxy/envoy-messages.ts'
import type { Heard } from '../../../test/proxy/processor.ts'
import { newBody, piece, responds, says } from '../../../test/proxy/processor.ts'
import type { BodyFlow } from '../../exchange/body-part.ts'
import { NO_EDIT } from '../../exchange/header-edit.ts'
import { ResponseDraft } from '../../exchange/response-draft.ts'
import type { OpenStream, StreamEvents } from '../../exchange/service-call.ts'
import { policySchema } from '../schema.ts'
import { Processing } from './processing.ts'
import { responseStream } from './response-stream.ts'
import type { ExtProc } from './schema.ts'

const codec = await import('./messages.ts')
const TIMEOUT = 5_000
/** Bytes without a reply of the service beyond which reading pauses. */
const MAX_BEHIND = 16 << 20

/** A response whose body goes through a service; the test speaks for both. */
async function stream(failureMode = 'failClosed') {
  const sent: { readonly text: string; readonly end: boolean }[] = []
  const ends: string[] = []
  let events: StreamEvents = { message: () => assert.fail(), closed: () => assert.fail() }
  const open: OpenStream = (_, __, own) => {
    events = own
    return {
      send: (bytes) => {
        const { responseBody } = decodeEnvoy('ProcessingRequest', bytes) as Partial<
          Heard['message']
        >
        const { body = [], endOfStream = false } = responseBody ?? {}
        if (responseBody) sent.push({ text: Buffer.from(body).toString(), end: endOfStream })
      },
      end: () => void ends.push('ended'),
      stop: () => void ends.push('stopped'),
    }
  }
  const { processingOptions } = policySchema('extProc').parse({
    host: 'service:1',
    processingOptions: { requestHeaderMode: 'skip', requestBodyMode: 'none' },
  }) as ExtProc
  const processor = {
    open,
    loading: Promise.resolve(codec),
    isOpen: failureMode === 'failOpen',
    timeout: TIMEOUT,
    options: processingOptions,
    metadata: () => ({}),
    requestAttributes: () => ({}),
    responseAttributes: () => ({}),
  }
  const processing = new Processing(processor, exchangeOf())
  assert.equal(await processing.request(), undefined)
  const heading = processing.response(new ResponseDraft(200, undefined, NO_EDIT))
  const speak = (message: object) => events.message(encodeEnvoy('ProcessingResponse', message))
  speak(says('responseHeaders'))
  assert.equal(await heading, undefined)
  const out: string[] = []
  const flow: BodyFlow = {
    write: (bytes) => {
      out.push(bytes.length > 99 ? `${bytes.length} bytes` : Buffer.from(bytes).toString())
      return true
    },
    end: () => void out.push('END'),
    fail: (why) => {
      const { status, detail } = why as { status: number; detail: string }
      out.push(`FAIL ${status} ${detail}`)
    },
    drained: () => void out.push('DRAINED'),
  }
  const body = responseStream(processing, flow)
  return {
    sent,
    ends,
    out,
    body,
    write: (text: string) => body.write(Buffer.from(text)),
    says: speak,
    /** Replies to one chunk. */
    reply: (text?: string) =>
      speak(says('responseBody', text === undefined ? {} : { bodyMutation: newBody(text) })),
    piece: (text: string, end: boolean) =>
      speak(says('responseBody', { bodyMutation: piece(text, end) })),
    breaks: (reason: string) => events.closed(reason),
  }
}

describe('the body of a response that a service processes', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  it('is sent chunk by chunk, and ends once with the reply to its last chunk', async () => {
    const { sent, ends, out, body, write, reply } = await stream()
    assert.equal(write('ab'), true)
    write('cd')
    reply()
    assert.deepEqual(out, ['ab'])
    body.end()
    assert.deepEqual(sent, [
      { text: 'ab', end: false },
      { text: 'cd', end: false },
      { text: '', end: true },
    ])
    reply('CD')
    assert.deepEqual(out, ['ab', 'CD'])
    reply()
    assert.deepEqual([out, ends], [['ab', 'CD', 'END'], ['ended']])
    reply('more')
    reply()
    mock.timers.tick(TIMEOUT * 2)
    assert.deepEqual([out, ends], [['ab', 'CD', 'END'], ['ended']], 'nothing follows its end')
  })

  it('ends with the last chunk of a streamed reply, whatever its number of chunks', async () => {
    const { ends, out, body, write, piece } = await stream()
    write('abc')
    piece('1', false)
    piece('2', false)
    body.end()
    piece('', false)
    piece('3', true)
    piece('4', true)
    assert.deepEqual([out, ends], [['1', '2', '3', 'END'], ['ended']])
  })

  it('is what the service makes of it, however many chunks it has', async () => {
    const chunks = fc.array(
      fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.string({ maxLength: 3 }))),
    )
    await fc.assert(
      fc.asyncProperty(chunks, fc.nat(4), async (pairs, lag) => {
        const { out, body, write, reply } = await stream()
        const replies = pairs.map(([, own]) => own ?? undefined)
        for (const [index, [text]] of pairs.entries()) {
          write(text)
          if (index >= lag) reply(replies[index - lag])
        }
        body.end()
        for (const own of replies.slice(Math.max(0, pairs.length - lag))) reply(own)
        assert.ok(!out.includes('END'))
        reply()
        const expected = pairs.map(([text, own]) => own ?? text).join('')
        assert.equal(out.slice(0, -1).join(''), expected)
        assert.equal(out.at(-1), 'END')
      }),
      fuzz(0.25),
    )
  })

  it('pauses while the service has too much of it, and continues as it catches up', async () => {
    const { out, body, reply, write } = await stream()
    assert.equal(body.write(Buffer.alloc(MAX_BEHIND - 1)), true)
    assert.equal(write('x'), true)
    assert.equal(write('y'), false)
    assert.equal(write('zz'), false)
    reply('')
    assert.deepEqual(out, ['DRAINED'])
    reply()
    reply()
    assert.deepEqual(out, ['DRAINED', 'x', 'y'], 'once')
    body.resume()
    assert.equal(out.length, 3)
  })

  it('stays paused until enough of it has a reply', async () => {
    const { out, body, reply, write } = await stream()
    write('abc')
    body.write(Buffer.alloc(MAX_BEHIND))
    assert.equal(write('d'), false)
    reply('')
    assert.deepEqual(out, [], 'one byte too many')
    reply('')
    assert.deepEqual(out, ['DRAINED'])
  })

  describe('fails', () => {
    for (const [what, act, expected] of [
      ['if the stream breaks', (one: Stream) => one.breaks('reset'), 'FAIL 500 reset'],
      [
        'if the service replies to another phase',
        (one: Stream) => one.says(says('requestBody')),
        'FAIL 500 unexpected requestBody, expected responseBody',
      ],
      [
        'if a message cannot be read',
        (one: Stream) => one.says({}),
        'FAIL 500 an empty ProcessingResponse',
      ],
      [
        'with the response that the service sends instead',
        (one: Stream) => one.says(responds(451, 'no')),
        'FAIL 451 because',
      ],
    ] as const) {
      it(`${what}, once`, async () => {
        const one = await stream()
        one.write('ab')
        act(one)
        assert.deepEqual([one.out, one.ends], [[expected], ['stopped']])
        one.breaks('again')
        one.reply()
        one.body.end()
        assert.equal(one.write('x'), true)
        mock.timers.tick(TIMEOUT * 2)
        assert.deepEqual([one.out, one.sent.length], [[expected], 1])
      })
    }

    it('if the service does not reply in time after its end', async () => {
      const { out, body, reply, write } = await stream()
      write('ab')
      mock.timers.tick(TIMEOUT * 9)
      assert.deepEqual(out, [], 'a service may read the whole body first')
      body.end()
      mock.timers.tick(TIMEOUT - 1)
      reply()
      mock.timers.tick(TIMEOUT - 1)
      assert.deepEqual(out, ['ab'])
      mock.timers.tick(1)
      assert.deepEqual(out, ['ab', 'FAIL 500 timeout'])
    })
  })

  describe('continues without a service that fails open', () => {
    it('with the chunks that have no reply', async () => {
      const one = await stream('failOpen')
      one.write('ab')
      one.write('')
      one.write('cd')
      one.reply('AB')
      one.breaks('reset')
      assert.deepEqual([one.out, one.ends], [['AB', 'cd'], ['stopped']])
      one.write('ef')
      one.reply('late')
      one.breaks('again')
      one.body.resume()
      one.body.end()
      assert.deepEqual(one.out, ['AB', 'cd', 'ef', 'DRAINED', 'END'])
      assert.equal(one.sent.length, 3, 'the service receives nothing more')
    })

    it('to its end, if it was waiting for the last reply', async () => {
      const one = await stream('failOpen')
      one.write('ab')
      one.body.end()
      mock.timers.tick(TIMEOUT)
      assert.deepEqual(one.out, ['ab', 'END'])
      mock.timers.tick(TIMEOUT)
      assert.deepEqual(one.out, ['ab', 'END'])
    })

    it('although it was paused', async () => {
      const one = await stream('failOpen')
      one.body.write(Buffer.alloc(MAX_BEHIND + 1))
      one.breaks('reset')
      assert.deepEqual(one.out, [`${MAX_BEHIND + 1} bytes`, 'DRAINED'])
    })
  })

  it('has no effect after it was aborted', async () => {
    for (const mode of ['failClosed', 'failOpen']) {
      const one = await stream(mode)
      one.write('ab')
      one.body.end()
      one.body.abort()
      one.reply()
      one.breaks('reset')
      mock.timers.tick(TIMEOUT * 2)
      assert.deepEqual([one.out, one.ends], [[], ['stopped']])
    }
  })

  it('does not change with the chunks that the sender reuses', async () => {
    const { out, body, reply } = await stream()
    const chunk = Buffer.from('ab')
    body.write(chunk)
    chunk.fill('x')
    reply()
    assert.deepEqual(out, ['ab'])
  })
})

type Stream = Awaited<ReturnType<typeof stream>>
