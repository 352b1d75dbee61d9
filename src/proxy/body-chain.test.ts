import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type BodyFlow, type BodyTransformer, inPieces } from '../exchange/body-part.ts'
import { PolicyError } from '../exchange/policy-error.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { Fields } from '../wire/http1/fields.ts'
import type { BodySink } from '../wire/streams.ts'
import { BodyChain, CROWDED_OUT } from './body-chain.ts'

const POLICY = { kind: 'transformations', policy: 'own' } as PolicyPlace
const upper = (flow: BodyFlow) =>
  inPieces(flow, (bytes) => Buffer.from(Buffer.from(bytes).toString().toUpperCase()))

/** A chain, and everything that it reported in order. */
function chainOf(room?: { retain(byteCount: number): boolean; release(byteCount: number): void }) {
  const log: unknown[] = []
  const events = {
    drained: () => void log.push('drained'),
    failed: (why: unknown) => void log.push(why),
  }
  return { chain: new BodyChain(events, room), log }
}

/** A sink that accepts as many writes as `accepts` says, from then on one for each `resume`. */
function sinkOf(log: unknown[], accepts = Number.POSITIVE_INFINITY): BodySink {
  let left = accepts
  return {
    write: (bytes) => {
      log.push(bytes.toString())
      return --left > 0
    },
    end: (trailers) => void log.push(trailers === undefined ? 'end' : { trailers }),
    abort: (reason) => void log.push(`abort ${reason}`),
  }
}

const bytesOf = (text: string) => Buffer.from(text)

describe('the held bytes of a body', () => {
  const step = fc.oneof(
    fc.record({ write: fc.stringMatching(/^[a-z]{0,5}$/) }),
    fc.record({ write: fc.integer({ min: 4_000, max: 9_000 }).map((n) => 'x'.repeat(n)) }),
    fc.constant({ read: true }),
  )

  it('can be read at any time, any number of times, and are all sent afterwards', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (steps, isCounted) => {
        let retained = 0
        const room = {
          retain: (byteCount: number) => (retained += byteCount) >= 0,
          release: (byteCount: number) => void (retained -= byteCount),
        }
        const { chain } = chainOf(isCounted ? room : undefined)
        let text = ''
        for (const one of steps) {
          if ('read' in one) assert.equal(chain.bytes.toString(), text)
          else {
            chain.write(bytesOf(one.write))
            text += one.write
          }
          assert.equal(chain.size, text.length)
          if (isCounted) assert.equal(retained, text.length)
        }
        const sent: unknown[] = []
        chain.connect(sinkOf(sent))
        assert.equal(sent.join(''), text)
        assert.deepEqual([retained, chain.size, chain.bytes.length], [0, 0, 0])
      }),
      { numRuns: 200, seed: 26 },
    )
  })

  it('are not sent if there is no room for them', () => {
    const released: number[] = []
    let left = 5
    const { chain, log } = chainOf({
      retain: (byteCount) => {
        if (byteCount > left) return false
        left -= byteCount
        return true
      },
      release: (byteCount) => void released.push(byteCount),
    })
    chain.write(bytesOf('abc'))
    assert.deepEqual(log, [])
    chain.write(bytesOf('def'))
    chain.write(bytesOf('g'))
    chain.end(undefined)
    assert.deepEqual(log, [CROWDED_OUT])
    assert.deepEqual(released, [3])
    assert.deepEqual([chain.size, chain.isWhole], [0, false])
    chain.connect(sinkOf(log))
    assert.deepEqual(log, [CROWDED_OUT])
  })

  it('are replaced as a whole', () => {
    const { chain, log } = chainOf()
    chain.write(bytesOf('before'))
    chain.end(undefined)
    assert.equal(chain.isChanged, false)
    chain.replace(new Uint8Array([65, 66, 67]).subarray(1))
    assert.deepEqual([chain.isChanged, chain.size, chain.isWhole], [true, 2, true])
    chain.connect(sinkOf(log))
    assert.deepEqual(log, ['BC', 'end'])
  })
})

describe('collecting a body', () => {
  for (const [pieces, max, expected] of [
    [[], 0, true],
    [['abc'], 3, true],
    [['ab', 'c'], 3, true],
    [['abc'], 2, false],
    [['ab', 'c'], 2, false],
    [['abc'], 0, false],
    [['abc'], Number.POSITIVE_INFINITY, true],
  ] as const) {
    for (const when of ['before', 'after'] as const) {
      it(`of ${JSON.stringify(pieces)} up to ${max} bytes, asked ${when} it: ${expected}`, async () => {
        const { chain, log } = chainOf()
        const asked = when === 'before' ? chain.collect(max) : undefined
        for (const piece of pieces) chain.write(bytesOf(piece))
        // A body that is too long is known before its end.
        if (expected) chain.end(undefined)
        assert.equal(await (asked ?? chain.collect(max)), expected)
        assert.equal(chain.bytes.toString(), pieces.join(''))
        assert.deepEqual(
          log.filter((one) => one !== 'drained'),
          [],
        )
      })
    }
  }

  it('stops the sender unless it is asked for, and from the first byte that is too many', () => {
    const { chain, log } = chainOf()
    assert.equal(chain.write(bytesOf('a')), false)
    void chain.collect(2)
    assert.deepEqual(log.splice(0), ['drained'])
    assert.equal(chain.write(bytesOf('b')), true)
    assert.equal(chain.write(bytesOf('')), true)
    assert.equal(chain.write(bytesOf('c')), false)
    assert.deepEqual(log, [])
    chain.connect(sinkOf(log))
    assert.deepEqual(log, ['abc', 'drained'])
  })
})

describe('a connected body', () => {
  it('flows with its trailers, and says what it is', () => {
    const { chain, log } = chainOf()
    assert.deepEqual([chain.isConnected, chain.isPlain, chain.isPassing], [false, false, false])
    chain.connect(sinkOf(log))
    assert.deepEqual([chain.isConnected, chain.isPlain, chain.isPassing], [true, true, false])
    assert.equal(chain.write(bytesOf('a')), true)
    assert.equal(chain.isWhole, false)
    const trailers = { count: 1 } as Fields
    chain.end(trailers)
    assert.deepEqual(log, ['a', { trailers }])
    assert.equal(chain.trailers, trailers)
    assert.equal(chain.isWhole, false, 'nothing is held')
  })

  it('reports drain once for each time that its sender had to wait', () => {
    const { chain, log } = chainOf()
    chain.connect(sinkOf(log, 2))
    assert.equal(chain.write(bytesOf('a')), true)
    chain.resume()
    assert.deepEqual(log, ['a'])
    assert.equal(chain.write(bytesOf('b')), false)
    chain.resume()
    chain.resume()
    assert.deepEqual(log, ['a', 'b', 'drained'])
  })

  it('does not report drain if its sink accepts no more than was held', () => {
    const { chain, log } = chainOf()
    assert.equal(chain.write(bytesOf('a')), false)
    chain.connect(sinkOf(log, 1))
    assert.deepEqual(log, ['a'])
    chain.resume()
    assert.deepEqual(log, ['a', 'drained'])
  })

  it('ends after it was held as a whole', () => {
    const { chain, log } = chainOf()
    chain.write(bytesOf('a'))
    chain.end(undefined)
    assert.equal(chain.isWhole, true)
    chain.connect(sinkOf(log))
    assert.deepEqual(log, ['a', 'end'])
  })

  it('passes on that it was aborted, and nothing after it', () => {
    const { chain, log } = chainOf()
    chain.connect(sinkOf(log))
    chain.abort('gone')
    chain.abort('again')
    chain.write(bytesOf('a'))
    chain.end(undefined)
    chain.flush()
    chain.resume()
    assert.deepEqual(log.slice(0, 1), ['abort gone'])
    assert.ok(!log.includes('a') && !log.includes('end'))
  })
})

describe('a transformed body', () => {
  it('changes what is held, what follows, and what it says of itself', () => {
    const { chain, log } = chainOf()
    chain.write(bytesOf('a'))
    chain.add(POLICY, upper)
    assert.deepEqual([chain.isChanged, chain.isPassing], [true, true])
    chain.write(bytesOf('b'))
    assert.equal(chain.bytes.toString(), 'AB')
    chain.connect(sinkOf(log))
    assert.equal(chain.isPlain, false)
    chain.write(bytesOf('c'))
    chain.end(undefined)
    assert.equal(chain.isPassing, false)
    assert.deepEqual(
      log.filter((one) => one !== 'drained'),
      ['AB', 'C', 'end'],
    )
  })

  it('ends once, if it was whole when the transformer was added', () => {
    const { chain, log } = chainOf()
    chain.write(bytesOf('a'))
    chain.end(undefined)
    chain.add(POLICY, upper)
    assert.equal(chain.isWhole, true)
    chain.connect(sinkOf(log))
    assert.deepEqual(log, ['A', 'end'])
  })

  it('stays as it is if a policy opens no transformer', () => {
    const { chain } = chainOf()
    chain.add(POLICY, () => undefined)
    assert.deepEqual([chain.isChanged, chain.isPassing], [false, false])
  })

  it('ignores what a transformer writes after its end', () => {
    const { chain, log } = chainOf()
    let flow: BodyFlow | undefined
    chain.add(POLICY, (own) => {
      flow = own
      return upper(own)
    })
    chain.connect(sinkOf(log))
    chain.end(undefined)
    assert.equal(flow?.write(bytesOf('late')), true)
    flow?.end()
    assert.deepEqual(log, ['end'])
  })

  const calls: readonly (keyof BodyTransformer)[] = ['write', 'end', 'resume', 'flush']
  for (const call of calls) {
    it(`fails once, in the name of its policy, if ${call} of a transformer throws`, () => {
      const { chain, log } = chainOf()
      const seen: string[] = []
      chain.add(undefined, (flow) => ({ ...upper(flow), abort: () => void seen.push('first') }))
      chain.add(POLICY, (flow) => ({
        ...upper(flow),
        abort: () => {
          seen.push('second')
          throw new Error('in vain')
        },
        [call]: () => {
          throw new Error('broken')
        },
      }))
      chain.add(undefined, (flow) => ({ ...upper(flow), abort: () => void seen.push('third') }))
      chain.connect(sinkOf(log, 1))
      chain.write(bytesOf('a'))
      chain.resume()
      chain.flush()
      chain.end(undefined)
      chain.write(bytesOf('b'))
      const failures = log.filter((one) => one instanceof Error)
      assert.equal(failures.length, 1)
      assert.ok(failures[0] instanceof PolicyError)
      assert.equal(failures[0].policy, POLICY)
      assert.equal(failures[0].message, 'broken')
      assert.deepEqual(seen, ['first', 'second', 'third'])
      assert.ok(!log.includes('end'))
    })
  }

  it('fails if a transformer says so', () => {
    const { chain, log } = chainOf()
    const write = (flow: BodyFlow) => {
      flow.fail('why')
      return true
    }
    chain.add(POLICY, (flow) => ({ ...upper(flow), write: () => write(flow) }))
    chain.write(bytesOf('a'))
    chain.write(bytesOf('b'))
    assert.equal(log.length, 1)
    assert.ok(log[0] instanceof PolicyError)
    assert.equal(log[0].cause, 'why')
  })
})
