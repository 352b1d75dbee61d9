import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty } from './assert-property.ts'
import { framesOf, scriptedResponse, toldByNode, toldByUs } from './http2-responses.ts'
import { fuzz } from './runs.ts'

const responses = fc.array(scriptedResponse, { maxLength: 6 })

describe('connections to HTTP/2 upstreams', () => {
  it('complete responses are reported as by node:http2', async () => {
    await assertProperty(
      'http2-responses',
      fc.asyncProperty(responses, async (list) => {
        const bytes = Buffer.concat(framesOf(list))
        const ours = await toldByUs(bytes, list.length)
        assert.deepEqual(ours, { told: await toldByNode(bytes, list.length), open: 0 })
      }),
      fuzz(0.2),
    )
  })

  it('they are the same wherever they are split', async () => {
    await assertProperty(
      'http2-responses-split',
      fc.asyncProperty(responses, fc.integer({ min: 1, max: 40 }), async (list, length) => {
        const bytes = Buffer.concat(framesOf(list))
        // Every second connection is sent byte by byte.
        const step = length % 2 === 0 ? length : 1
        const one = await toldByUs(bytes, list.length)
        assert.deepEqual(await toldByUs(bytes, list.length, step), one)
      }),
      fuzz(0.02, 5),
    )
  })

  it('every request ends exactly once, however the responses are mutated', async () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      byte: fc.integer({ min: 0, max: 255 }),
      how: fc.constantFrom('set', 'insert', 'remove', 'repeat', 'swap'),
    })
    await assertProperty(
      'http2-responses-mutated',
      fc.asyncProperty(
        responses,
        fc.array(change, { minLength: 1, maxLength: 6 }),
        async (list, changes) => {
          const frames = [...framesOf(list)]
          let bytes = Buffer.concat(frames)
          for (const { at, byte, how } of changes) {
            const place = Math.floor(at * bytes.length)
            const which = Math.floor(at * frames.length)
            if (how === 'repeat' || how === 'swap') {
              const [own = Buffer.alloc(0)] = frames.splice(which, 1)
              if (how === 'repeat') frames.splice(which, 0, own, own)
              else frames.push(own)
              bytes = Buffer.concat(frames)
            } else if (how === 'set') bytes[place] = byte
            else {
              const from = how === 'remove' ? place + 1 : place
              const put = how === 'insert' ? Buffer.from([byte]) : Buffer.alloc(0)
              bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(from)])
            }
          }
          const { told, open } = await toldByUs(bytes, list.length)
          assert.equal(open, 0)
          for (const own of told) assert.equal(own.match(/(^|\|)(ended|failed)/g)?.length, 1)
        },
      ),
      fuzz(0.4),
    )
  })
})
