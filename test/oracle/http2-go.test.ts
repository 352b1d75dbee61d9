import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { type Fields, fieldName, fieldValue } from '../../src/wire/http1/fields.ts'
import type { ResponseEvents } from '../../src/wire/upstream-connection.ts'
import { asked, connectionOf, seenByUs } from '../fuzz/http2-connections.ts'
import { framesOf, scriptedResponse } from '../fuzz/http2-responses.ts'
import { fuzz } from '../fuzz/runs.ts'
import { frame } from '../proxy/http2-gateway.ts'
import { NO_SETTINGS, ScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { GoWire, WITHOUT_GO } from './go-wire.ts'
import { goRequest, requestAsGo } from './go-words.ts'

const PREFACE = 24
const FRAME_HEAD = 9
const MAX_FRAME = 16_384
const PING = 6
/** The Go program sends this last, so that it knows when everything was read. */
const LAST_PING = frame(PING, 0, 0, Buffer.from('the end!'))
/** Connections per batch. */
const BATCH = 100
/**
 * Milliseconds that Go's goroutines get. The second value applies if the results seem to differ,
 * since Go may be late.
 */
const [SOON, LATE] = [2, 400]

const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  byte: fc.integer({ min: 0, max: 255 }),
  how: fc.constantFrom('set', 'insert', 'remove', 'repeat', 'swap', 'cut'),
})
type Change = typeof change extends fc.Arbitrary<infer Own> ? Own : never
const changes = fc.array(change, { maxLength: 3 })

/** `start`: the number of leading bytes that stay unchanged. */
function mutated(given: readonly Buffer[], list: readonly Change[], start: number): Buffer {
  const frames = [...given]
  let bytes = Buffer.concat(frames)
  for (const { at, byte, how } of list) {
    const place = start + Math.floor(at * Math.max(1, bytes.length - start))
    const which = Math.min(frames.length - 1, 1 + Math.floor(at * (frames.length - 1)))
    const around = (put: Buffer, behind: number) =>
      Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(behind)])
    if (how === 'repeat' && which >= 0) {
      frames.splice(which, 0, frames[which] as Buffer)
      bytes = Buffer.concat(frames)
    } else if (how === 'swap') {
      frames.push(...frames.splice(which, 1))
      bytes = Buffer.concat(frames)
    } else if (how === 'set') bytes[place] = byte
    else if (how === 'insert') bytes = around(Buffer.from([byte]), place)
    else if (how === 'remove') bytes = around(Buffer.alloc(0), place + 1)
    else if (how === 'cut') bytes = bytes.subarray(0, place)
  }
  return bytes
}

/**
 * Go processes a frame once it is complete, and we process it once its header is. This completes
 * the last frame.
 */
function completed(bytes: Buffer, start: number): Buffer {
  let at = start
  let whole = bytes
  while (at < whole.length) {
    if (whole.length < at + FRAME_HEAD)
      whole = Buffer.concat([whole, Buffer.alloc(at + FRAME_HEAD - whole.length)])
    const length = whole.readUIntBE(at, 3)
    // A frame of this length ends the connection.
    if (length > MAX_FRAME) return whole
    at += FRAME_HEAD + length
  }
  return Buffer.concat([whole, Buffer.alloc(at - whole.length)])
}

/** Whether the connection ended because of what was sent. */
const endsEarly = (said: readonly string[]) =>
  said.some((own) => own === 'closed' || (own.startsWith('goaway') && own !== 'goaway 0'))
/**
 * RFC 9113 §5.4.2 leaves open whether frames on a closed stream are a connection error, as here, or
 * a stream error, as in Go, which has another word for it if it is still reading trailers.
 */
const isStreamError = (said: readonly string[], error: number | undefined) =>
  said.some((word) => /^reset \d+ 5$/.test(word) || (error === 5 && /^reset \d+ 1$/.test(word)))

const shown = (bytes: Buffer) => bytes.toString('base64')

describe('connections, compared with Go', { skip: WITHOUT_GO }, () => {
  let go: GoWire
  before(() => {
    go = new GoWire()
  })
  after(() => go.close())

  async function inBatches<T>(
    cases: fc.Arbitrary<T>,
    share: number,
    look: (own: T) => Promise<void>,
  ) {
    const { numRuns, seed } = fuzz(share, 3 * BATCH)
    for (let done = 0; done < numRuns; done += BATCH)
      await Promise.all(fc.sample(cases, { numRuns: BATCH, seed: seed + done }).map(look))
    return numRuns
  }

  it('clients: the same requests are seen, and the same connections end', async () => {
    const requests = fc.array(asked, { minLength: 1, maxLength: 5 })
    await inBatches(fc.tuple(requests, changes), 0.1, async ([list, changed]) => {
      // Each request has its own path, so that requests cannot be confused.
      const own = list.map((one, i) => ({ ...one, path: `/${i}${one.path}` }))
      const bytes = completed(mutated(connectionOf(own), changed, PREFACE), PREFACE)
      const whole = Buffer.concat([bytes, LAST_PING])
      const ours = await seenByUs([whole])
      assert.deepEqual([ours.isClosed, ours.broken], [true, []])
      const seen = ours.seen.map(requestAsGo).toSorted()
      const isEarly = ours.served.error !== undefined
      const outcome = JSON.stringify([seen, isEarly])
      let theirs = ''
      for (const patience of [SOON, LATE]) {
        const told = await go.ask({ client: shown(bytes), patience })
        theirs = JSON.stringify([told.seen.map(goRequest).toSorted(), endsEarly(told.said)])
        if (theirs === outcome) return
        if (isStreamError(told.said, ours.served.error))
          theirs = JSON.stringify([JSON.parse(theirs)[0], isEarly])
        if (theirs === outcome) return
      }
      assert.equal(outcome, theirs, shown(bytes))
    })
  })

  it('servers: the same responses are complete, and the same responses fail', async () => {
    const responses = fc.array(scriptedResponse, { minLength: 1, maxLength: 4 })
    let differing = 0
    const all = await inBatches(fc.tuple(responses, changes), 0.1, async ([list, changed]) => {
      const bytes = completed(mutated(framesOf(list), changed, 0), 0)
      if (bytes.length === 0) return
      const ours = await responsesOf(bytes, list.length)
      let theirs: readonly string[] = []
      for (const patience of [SOON, LATE]) {
        const { seen } = await go.ask({ server: shown(bytes), count: list.length, patience })
        // Go's JSON encoder escapes some characters differently.
        theirs = seen.map((own) => (own === 'failed' ? own : JSON.stringify(JSON.parse(own))))
        if (JSON.stringify(theirs) === JSON.stringify(ours)) return
      }
      // A second head, or a head on a closed stream, is a stream error on one side and a connection
      // error on the other. Responses must be the same otherwise.
      for (const [i, own] of ours.entries()) {
        const isSame = own === theirs[i] || own === 'failed' || theirs[i] === 'failed'
        assert.ok(isSame && own !== '', `${own} ${theirs[i]} ${shown(bytes)}`)
      }
      differing++
    })
    assert.ok(differing <= all / 20, `${differing} of ${all}`)
  })
})

/** Returns the results of our client for the bytes of a server, in the format of the Go program. */
async function responsesOf(bytes: Buffer, count: number): Promise<readonly string[]> {
  const upstream = new ScriptedUpstream()
  await upstream.say(NO_SETTINGS)
  const all = Array.from({ length: count }, (_, i) => {
    const found = { text: '' }
    let [status, fields, body] = [0, [] as readonly string[], '']
    const events: ResponseEvents = {
      idleTimeout: 60_000,
      interim: () => {},
      response: (head) => {
        status = head.status
        fields = linesOf(head.fields)
        return false
      },
      data: (part) => {
        body += part.toString('latin1')
        return true
      },
      ended: (trailers) => {
        const late = trailers === undefined ? [] : linesOf(trailers)
        found.text = JSON.stringify([status, fields, body, late])
      },
      failed: () => {
        found.text = 'failed'
      },
      drained: () => {},
    }
    const head = `GET /${i} HTTP/1.1\r\nhost: x\r\n\r\n`
    upstream.session.open().send('GET', head, false, 60_000, events)
    return found
  })
  await turn()
  await upstream.say(bytes)
  upstream.close()
  for (let i = 0; i < 5; i++) await turn()
  return all.map(({ text }) => text)
}

function linesOf(fields: Fields): readonly string[] {
  return Array.from(
    { length: fields.count },
    (_, i) => `${fieldName(fields, i)}: ${fieldValue(fields, i)}`,
  ).toSorted()
}
