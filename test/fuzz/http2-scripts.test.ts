import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty } from './assert-property.ts'
import { CLIENT_FAULTS, type Fault, type Reaction } from './http2-client-faults.ts'
import { seenByUs, servedByNode } from './http2-connections.ts'
import { NODE_SERVER, reactionsOfNode } from './http2-differences.ts'
import { type Rendered, render, type Script, script } from './http2-scripts.ts'
import type { Served } from './http2-served.ts'
import { fuzz } from './runs.ts'

const isOfScript = (text: string) => /^\/\d+\/\d+\//.test(JSON.parse(text)[1])

/** Pieces of `length` bytes. */
function cut(frames: readonly Buffer[], length: number): readonly Buffer[] {
  const bytes = Buffer.concat(frames)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + length)
    pieces.push(Buffer.from(bytes.subarray(at, end)))
    at = end
  }
  return pieces
}

/** RFC 9113 §5.4.2: a server may or may not have seen a request before its stream was reset. */
function checkSeen(seen: readonly string[], { whole, dropped }: Rendered, who: string): void {
  const own = seen.filter(isOfScript)
  const missing = whole.filter((one) => !own.includes(one) && !dropped.has(one))
  assert.deepEqual([missing, own.filter((one) => !whole.includes(one))], [[], []], who)
  assert.equal(new Set(own).size, own.length, who)
}

function checkSent({ sent, resets }: Served, { responses }: Rendered, who: string): void {
  for (const [id, { min, max }] of responses) {
    const bytes = sent.get(id) ?? 0
    assert.ok(bytes <= max, `${who}: ${bytes} bytes of ${id}, not at most ${max}`)
    if (!resets.has(id)) assert.ok(bytes >= min, `${who}: ${bytes} bytes of ${id}, not ${min}`)
  }
}

function reactionOf({ error, resets }: Served, { faultId }: Rendered): Reaction {
  const code = resets.get(faultId)
  if (error !== undefined) return `connection ${error}`
  // An endpoint that is stopped in the middle resets the stream without an error.
  return code === undefined || code === 0 ? 'none' : `stream ${code}`
}

/**
 * node:http2 closes connections on a PING acknowledgement without a PING; RFC 9113 §6.7 does not
 * mention this case.
 */
const withoutPongs = (own: Script): Script => ({
  ...own,
  extras: own.extras.filter(({ what }) => what !== 'pong'),
})

const scripts = fc.tuple(script, fc.constantFrom(1, 7, 100_000))

describe('complete HTTP/2 connections, by script', () => {
  it('without a fault: every request is seen, by node:http2 too', async () => {
    await assertProperty(
      'http2-scripts',
      fc.asyncProperty(script, fc.constantFrom(1, 2, 9, 100, 100_000), async (own, length) => {
        const rendered = render(own)
        const ours = await seenByUs(cut(rendered.frames, length))
        assert.deepEqual([ours.isClosed, ours.broken, ours.served.illegal], [true, [], []])
        assert.deepEqual([ours.seen, ours.served.error], [rendered.whole, undefined])
        assert.deepEqual([...ours.served.resets.keys()], [])
        checkSent(ours.served, rendered, 'ours')
        const asked = render(withoutPongs(own))
        const isEnough = (seen: readonly string[], served: Served) =>
          seen.length >= rendered.whole.length - rendered.dropped.size &&
          [...rendered.responses].every(([id, { min }]) => (served.sent.get(id) ?? 0) >= min)
        const theirs = await servedByNode([Buffer.concat(asked.frames)], isEnough)
        checkSeen(theirs.seen, rendered, 'node:http2')
        checkSent(theirs.served, rendered, 'node:http2')
      }),
      fuzz(0.1, 60),
    )
  })

  for (const fault of CLIENT_FAULTS)
    it(`${fault.name} (${fault.section})`, async () => {
      await assertProperty(
        'http2-scripts-faults',
        fc.asyncProperty(scripts, async ([own, length]) => {
          await compare(fault, render(withoutPongs(own), fault.frames), length)
        }),
        fuzz(0.002, 3),
      )
    })
})

async function compare(fault: Fault, rendered: Rendered, length: number): Promise<void> {
  const ours = await seenByUs(cut(rendered.frames, length))
  assert.deepEqual([ours.isClosed, ours.broken, ours.served.illegal], [true, [], []])
  assert.equal(reactionOf(ours.served, rendered), fault.reactions[0])
  const isLost = ours.served.error !== undefined
  const expected = isLost ? rendered.wholeBefore : rendered.whole
  assert.deepEqual(ours.seen.filter(isOfScript), expected)
  const others = [...ours.served.resets.keys()].filter((id) => id !== rendered.faultId)
  assert.deepEqual(others, [])
  const allowed = reactionsOfNode(fault, NODE_SERVER)
  const isEnough = (seen: readonly string[], served: Served) =>
    allowed.includes(reactionOf(served, rendered)) &&
    (served.error !== undefined || seen.filter(isOfScript).length >= rendered.whole.length)
  const theirs = await servedByNode([Buffer.concat(rendered.frames)], isEnough)
  const reaction = reactionOf(theirs.served, rendered)
  assert.ok(allowed.includes(reaction), `node:http2: ${reaction}`)
  // §6.8: implementations differ in which requests they complete before a connection error.
  if (theirs.served.error === undefined) checkSeen(theirs.seen, rendered, 'node:http2')
  for (const own of theirs.seen.filter(isOfScript)) assert.ok(rendered.whole.includes(own))
}
