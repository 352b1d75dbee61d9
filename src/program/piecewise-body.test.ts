import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { PiecewiseBody } from './piecewise-body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const NO_BYTES = new Uint8Array(0)

/** Each piece takes longer than a turn may. */
function* slow(...texts: readonly string[]): Generator<Uint8Array> {
  for (const text of texts) {
    for (const began = performance.now(); performance.now() - began < 3; );
    yield bytes(text)
  }
}

function open(takes = true) {
  const seen: string[] = []
  const body = new PiecewiseBody(
    {
      write: (own) => {
        seen.push(new TextDecoder().decode(own))
        return takes
      },
      end: () => void seen.push('END'),
      fail: (why) => void seen.push(`FAIL ${(why as Error).message}`),
      drained: () => void seen.push('DRAINED'),
    },
    () => {},
  )
  return { seen, body }
}

async function until(isDone: () => boolean): Promise<void> {
  for (let turns = 0; turns < 100 && !isDone(); turns++) await turn()
}

describe('a body that is generated in pieces', () => {
  it('is sent as it is generated, yielding between pieces', async () => {
    const { seen, body } = open()
    let turns = 0
    const other = setInterval(() => turns++, 0)
    assert.equal(body.write(slow('a', 'b', 'c')), false)
    assert.deepEqual(seen, ['a'])
    await until(() => seen.includes('DRAINED'))
    clearInterval(other)
    assert.deepEqual(seen, ['a', 'b', 'c', 'DRAINED'])
    assert.ok(turns > 0)
  })

  it('continues at once after short writes', ({ mock }) => {
    mock.method(performance, 'now', () => 0)
    const { seen, body } = open()
    assert.equal(body.write(bytes('a')), true)
    assert.equal(
      body.write(
        (function* () {
          yield bytes('b')
          yield NO_BYTES
          yield bytes('c')
        })(),
      ),
      true,
    )
    assert.deepEqual(seen, ['a', 'bc'])
  })

  it('ends after everything that is being generated', async () => {
    const { seen, body } = open()
    body.write(slow('a', 'b'))
    body.end(() => bytes('last'), undefined)
    await until(() => seen.includes('END'))
    assert.deepEqual(seen, ['a', 'b', 'last', 'END'])
  })

  it('ends after everything that was held back', async () => {
    const { seen, body } = open()
    body.end(
      () => NO_BYTES,
      async () => slow('held', 'back'),
    )
    await until(() => seen.includes('END'))
    assert.deepEqual(seen, ['held', 'back', 'END'])
  })

  it('requests more only once it is done and the client accepts more', async () => {
    const { seen, body } = open(false)
    body.write(slow('a', 'b'))
    body.resume()
    await until(() => seen.includes('b'))
    await turn()
    assert.deepEqual(seen, ['a', 'b'])
    body.resume()
    assert.deepEqual(seen, ['a', 'b', 'DRAINED'])
  })

  it('fails with the error that is thrown, also later', async () => {
    const { seen, body } = open()
    body.write(
      (function* () {
        yield* slow('a')
        throw new Error('planted')
      })(),
    )
    await until(() => seen.length > 1)
    assert.deepEqual(seen, ['a', 'FAIL planted'])
    body.end(
      () => NO_BYTES,
      async () => {
        throw new Error('unreachable')
      },
    )
  })

  it('stops when it is aborted', async () => {
    const { seen, body } = open()
    body.write(slow('a', 'b', 'c'))
    body.abort()
    for (let turns = 0; turns < 5; turns++) await turn()
    assert.deepEqual(seen, ['a'])
  })
})
