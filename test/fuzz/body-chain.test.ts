import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { BodyChain } from '../../src/proxy/body-chain.ts'
import { fill } from '../faults/patterns.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'
import { inPiecesOf, plainly, readBack, type Twin, twin, twins } from './transformers.ts'

/**
 * A body sent through transformers yields the same result as the whole body at once, however it is
 * split, whenever the transformers are added, however much is collected first, and however slowly
 * the sink accepts it.
 */

interface Way {
  readonly length: number
  readonly pieces: readonly number[]
  /**
   * Transformers added before the first piece. Those in `after` are added after `afterPieces`
   * pieces.
   */
  readonly before: readonly Twin[]
  readonly after: readonly Twin[]
  readonly afterPieces: number
  /** Bytes to collect before the second transformers are added; -1: none. */
  readonly collects: number
  /** The sink stops accepting data after this many writes, for this many turns. */
  readonly takes: number
  readonly turns: number
}

const way: fc.Arbitrary<Way> = fc.record({
  length: fc.oneof(fc.nat(12), fc.nat(300), fc.nat(70_000)),
  pieces: fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20_000 })), {
    minLength: 1,
    maxLength: 4,
  }),
  before: fc.array(twin, { maxLength: 2 }),
  after: twins,
  afterPieces: fc.nat(4),
  collects: fc.constantFrom(-1, 0, 7, 1_000, Number.POSITIVE_INFINITY),
  takes: fc.integer({ min: 1, max: 4 }),
  turns: fc.integer({ min: 0, max: 3 }),
})

/** Returns the output, or undefined if the body does not reach its end. */
async function pass(own: Way, body: Buffer): Promise<Buffer | undefined> {
  const out: Buffer[] = []
  let isEnded = false
  let mayGoOn = true
  let failure: unknown
  const chain = new BodyChain({
    drained: () => {
      mayGoOn = true
    },
    failed: (why) => {
      failure = why
    },
  })
  for (const { open } of own.before) chain.add(undefined, open)
  const decide = async () => {
    if (own.collects >= 0) {
      const isWhole = await chain.collect(own.collects)
      assert.equal(isWhole, chain.size <= own.collects)
    }
    for (const { open } of own.after) chain.add(undefined, open)
    let writes = 0
    let isWaiting = false
    chain.connect({
      write(bytes) {
        assert.ok(!isEnded)
        out.push(Buffer.from(bytes))
        if (isWaiting || ++writes % own.takes !== 0) return !isWaiting
        isWaiting = true
        const resume = (turns: number) => {
          if (turns > 0) setImmediate(() => resume(turns - 1))
          else {
            isWaiting = false
            chain.resume()
          }
        }
        setImmediate(() => resume(own.turns))
        return false
      },
      end() {
        assert.ok(!isEnded)
        isEnded = true
      },
      abort: () => assert.fail('aborted'),
    })
  }
  const pieces = inPiecesOf(body, own.pieces)
  let decided: Promise<void> | undefined
  for (const [i, piece] of pieces.entries()) {
    if (i === own.afterPieces) decided ??= decide()
    // The chain gets a copy, and the buffer that the piece was read into is overwritten.
    const lent = Buffer.from(piece)
    mayGoOn = chain.write(Buffer.from(lent))
    lent.fill(0)
    for (let turns = 0; !mayGoOn && turns < 20; turns++) await turn()
    if (!mayGoOn) decided ??= decide()
    await until(() => mayGoOn)
    if (!mayGoOn) return undefined
  }
  chain.end(undefined)
  decided ??= decide()
  await decided
  await until(() => isEnded || failure !== undefined)
  assert.equal(failure, undefined)
  return isEnded ? Buffer.concat(out) : undefined
}

/** Compression runs on a thread, which may have to wait for its turn. */
async function until(isThere: () => boolean): Promise<void> {
  const end = Date.now() + 120_000
  for (let turns = 0; !isThere() && Date.now() < end; turns++) await (turns < 50 ? turn() : wait(1))
}

async function check(own: Way): Promise<void> {
  const body = fill(3, 0, own.length)
  const out = await pass(own, body)
  assert.ok(out !== undefined, 'it does not come to its end')
  const all = [...own.before, ...own.after]
  assert.ok(readBack(all, out).equals(plainly(all, body)), all.map(({ name }) => name).join())
}

describe('a body through transformers', () => {
  it('has the same result as transforming it as a whole', async () => {
    await assertProperty('body-chain', fc.asyncProperty(way, check), fuzz(0.1, 60))
  })

  it('has the same result when split at every byte', async () => {
    const some = fc.sample(way, { numRuns: 12, seed: 7 })
    for (const own of some) {
      for (let at = 1; at < 12; at++) await check({ ...own, length: 12, pieces: [at, 12 - at] })
    }
  })
})
