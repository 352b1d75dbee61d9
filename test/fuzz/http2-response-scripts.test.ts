import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty } from './assert-property.ts'
import type { Fault, Reaction } from './http2-client-faults.ts'
import { NODE_CLIENT, reactionsOfNode } from './http2-differences.ts'
import {
  type Expected,
  type RenderedResponses,
  type ResponseScript,
  renderResponses,
  responseScript,
} from './http2-response-scripts.ts'
import { heardByNode, heardByUs } from './http2-responses.ts'
import type { Served } from './http2-served.ts'
import { SERVER_FAULTS } from './http2-server-faults.ts'
import { fuzz } from './runs.ts'

/** Additional requests, into which faults are injected. */
const BESIDES = 2

/**
 * A response is reported as sent, or reported as failed. A partial response is never reported as
 * complete.
 */
function checkTold(told: string, { text, isWhole }: Expected, who: string): void {
  if (isWhole) assert.equal(told, text, who)
  else assert.match(told, /(^|\|)failed/, who)
}

const reactionOf = ({ error, resets }: Served, id: number): Reaction => {
  const code = resets.get(id)
  if (error !== undefined) return `connection ${error}`
  // An endpoint that is stopped in the middle resets the stream without an error.
  return code === undefined || code === 0 ? 'none' : `stream ${code}`
}

/**
 * node:http2 closes connections on a PING acknowledgement without a PING; RFC 9113 §6.7 does not
 * mention this case.
 */
const withoutPongs = (own: ResponseScript): ResponseScript => ({
  ...own,
  extras: own.extras.filter(({ what }) => what !== 'pong'),
})

describe('complete connections to HTTP/2 upstreams, by script', () => {
  it('without a fault: every response is reported, by node:http2 too', async () => {
    await assertProperty(
      'http2-response-scripts',
      fc.asyncProperty(
        responseScript,
        fc.constantFrom(1, 2, 9, 100, 100_000),
        async (own, length) => {
          const { bytes, expected } = renderResponses(own)
          const ours = await heardByUs(bytes, expected.length, length)
          assert.deepEqual([ours.open, ours.served.error, ours.served.illegal], [0, undefined, []])
          for (const [i, one] of expected.entries()) checkTold(ours.told[i] ?? '', one, 'ours')
          const asked = renderResponses(withoutPongs(own))
          const theirs = await heardByNode(asked.bytes, expected.length, () => false)
          for (const [i, one] of expected.entries())
            if (one.isWhole) checkTold(theirs.told[i] ?? '', one, 'node:http2')
        },
      ),
      fuzz(0.1, 60),
    )
  })

  const scripts = fc.tuple(responseScript, fc.constantFrom(1, 7, 100_000))
  for (const fault of SERVER_FAULTS)
    it(`${fault.name} (${fault.section})`, async () => {
      await assertProperty(
        'http2-response-scripts-faults',
        fc.asyncProperty(scripts, async ([own, length]) => {
          await compare(fault, renderResponses(withoutPongs(own), fault.frames), length)
        }),
        fuzz(0.002, 3),
      )
    })
})

/** The other responses of node:http2 are not compared, since those in progress simply end. */
async function compare(fault: Fault, rendered: RenderedResponses, length: number): Promise<void> {
  const { bytes, expected, faultId } = rendered
  const count = expected.length + BESIDES
  const ours = await heardByUs(bytes, count, length)
  assert.deepEqual([ours.open, ours.served.illegal], [0, []])
  assert.equal(reactionOf(ours.served, faultId), fault.reactions[0])
  const isLost = ours.served.error !== undefined
  for (const [i, one] of expected.entries())
    checkTold(ours.told[i] ?? '', isLost ? { ...one, isWhole: one.wasWhole } : one, 'ours')
  const allowed = reactionsOfNode(fault, NODE_CLIENT)
  const isEnough = (served: () => Served) => allowed.includes(reactionOf(served(), faultId))
  const theirs = await heardByNode(bytes, count, isEnough)
  const reaction = reactionOf(theirs.served, faultId)
  assert.ok(allowed.includes(reaction), `node:http2: ${reaction}`)
}
