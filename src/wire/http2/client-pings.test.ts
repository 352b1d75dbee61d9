import assert from 'node:assert/strict'
import { after, describe, it, mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DATA, END_HEADERS, fieldBlock, frame, HEADERS } from '../../../test/proxy/http2-gateway.ts'
import { NO_SETTINGS, PING, ScriptedUpstream } from '../../../test/proxy/scripted-upstream.ts'

const ACK = 1
const MINUTE = 60_000
const opened: ScriptedUpstream[] = []
after(() => opened.forEach((own) => void own.close()))

/**
 * A gRPC server with default settings: it acknowledges every PING, and ends the connection on the
 * third PING that follows its predecessor within five minutes without a message of its own in
 * between.
 */
async function pingsWithin(minutes: number, speaksEvery: number): Promise<readonly number[]> {
  let now = performance.now()
  const start = now
  const clock = mock.method(performance, 'now', () => now)
  try {
    const upstream = new ScriptedUpstream()
    opened.push(upstream)
    await upstream.say(NO_SETTINGS)
    upstream.ask()
    const head = frame(HEADERS, END_HEADERS, 1, fieldBlock([[':status', '200']]))
    await upstream.say(head)
    const pings: number[] = []
    for (let second = 1; second <= minutes * 60; second++) {
      now = start + second * 1_000
      upstream.session.expire()
      await turn()
      const all = upstream.sent.filter(({ type, flags }) => type === PING && flags !== ACK).length
      if (all > pings.length) {
        pings.push(second * 1_000)
        now += 5
        await upstream.say(frame(PING, ACK, 0, Buffer.alloc(8)))
      }
      if (second % speaksEvery === 0) await upstream.say(frame(DATA, 0, 1, Buffer.from('x')))
    }
    assert.equal(upstream.closed, '')
    return pings
  } finally {
    clock.mock.restore()
  }
}

function strikesOf(pings: readonly number[]): number {
  return pings.filter((at, i) => i > 0 && at - (pings[i - 1] as number) < 5 * MINUTE).length
}

describe('keep-alive PINGs to an upstream', () => {
  it('a quiet stream does not exceed the PING rate that gRPC servers allow', async () => {
    const pings = await pingsWithin(30, Number.POSITIVE_INFINITY)
    assert.equal(strikesOf(pings), 0)
    // A dead upstream is detected soon if no PING was sent before.
    assert.ok((pings[0] as number) <= 32_000)
    assert.ok(pings.length >= 5)
  })

  it('are sent after 30 s of silence since the last upstream message', async () => {
    const pings = await pingsWithin(10, 60)
    assert.ok(pings.length >= 9, `${pings}`)
  })
})
