import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
} from '../../../test/proxy/http2-gateway.ts'
import {
  CONTINUATION,
  greetedUpstreams,
  NO_SETTINGS,
  PING,
  WINDOW_UPDATE,
  words,
} from '../../../test/proxy/scripted-upstream.ts'

const greeted = greetedUpstreams()

const OK = [[':status', '200']] as const
const CALM = 11
const PRIORITY = 2
const head = (id = 1) => frame(HEADERS, END_HEADERS, id, fieldBlock(OK))
const times = (count: number, bytes: Buffer) => Buffer.concat(Array(count).fill(bytes))

describe('floods by an upstream', () => {
  const blank = frame(DATA, 0, 1, Buffer.alloc(0))
  for (const [name, bytes, count] of [
    ['PING', frame(PING, 0, 0, Buffer.alloc(8)), 'too-many-pings'],
    ['responses to no PING', frame(PING, 1, 0, Buffer.alloc(8)), 'too-many-pings'],
    ['SETTINGS', NO_SETTINGS, 'too-many-settings'],
    ['DATA without data', blank, 'too-many-empty-frames'],
    ['PRIORITY', frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1])), 'too-many-priorities'],
    ['WINDOW_UPDATE', frame(WINDOW_UPDATE, 0, 0, words(1)), 'too-many-window-updates'],
    ['frames that nobody knows', frame(0x2a, 0, 0, Buffer.alloc(16_384)), 'too-much-overhead'],
  ] as const) {
    it(name, async ({ mock }) => {
      // Limits recover as time passes, however long the machine takes to read a flood.
      mock.method(performance, 'now', () => 0)
      const upstream = await greeted()
      const asked = upstream.ask()
      await upstream.say(head())
      // These limits count bytes, the others count frames.
      const isOfBytes = /overhead|window/.test(count)
      await upstream.say(times(isOfBytes ? Math.ceil(6e6 / bytes.length) : 8_000, bytes))
      assert.ok(upstream.counts.includes(count))
      assert.deepEqual(asked.reported, ['200', `failed ${count}`])
      assert.deepEqual(upstream.codes(7), [CALM])
    })
  }

  it('CONTINUATION', async ({ mock }) => {
    mock.method(performance, 'now', () => 0)
    const upstream = await greeted()
    const asked = upstream.ask()
    const more = times(100, frame(CONTINUATION, 0, 1, Buffer.alloc(0)))
    await upstream.say(Buffer.concat([frame(HEADERS, 0, 1, fieldBlock(OK)), more]))
    assert.deepEqual(
      [asked.reported, upstream.codes(7)],
      [['failed too-many-header-frames'], [CALM]],
    )
  })

  it('empty frames that end responses are not a flood', async () => {
    const upstream = await greeted()
    const ended = (id: number) =>
      Buffer.concat([head(id), frame(DATA, END_STREAM, id, Buffer.alloc(0))])
    for (let i = 0; i < 10_000; i += 50) {
      const all = Array.from({ length: 50 }, () => upstream.ask())
      await upstream.say(Buffer.concat(all.map((_, at) => ended(2 * (i + at) + 1))))
      for (const { reported } of all) assert.deepEqual(reported, ['200', 'ended'])
    }
    assert.equal(upstream.closed, '')
  })
})
