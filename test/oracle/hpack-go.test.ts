import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import {
  FieldBlock,
  nameEnd,
  nameStart,
  valueEnd,
  valueStart,
} from '../../src/wire/http2/field-block.ts'
import { HpackDecoder } from '../../src/wire/http2/hpack-decoder.ts'
import { HpackEncoder } from '../../src/wire/http2/hpack-encoder.ts'
import { PlainDecoder } from '../fuzz/hpack.plain.ts'
import { fuzz } from '../fuzz/runs.ts'
import { type Field, GoWire, WITHOUT_GO } from './go-wire.ts'

/** Connections per batch. */
const BATCH = 250
/**
 * Go accepts integers of up to nine bytes after the first, and a table size update only at the
 * beginning of a block or while the table is empty.
 */
const plainGo = () => new PlainDecoder(9, (isFirst, _, inTable) => isFirst || inTable === 0)

const block = new FieldBlock()

function readByUs(blocks: readonly Buffer[]): readonly (readonly Field[] | null)[] {
  const decoder = new HpackDecoder(1_000_000)
  const all: (readonly Field[] | null)[] = []
  for (const bytes of blocks) {
    if (!decoder.read(bytes, 0, bytes.length, block)) return [...all, null]
    const text = (from: number, to: number) => block.bytes.toString('latin1', from, to)
    all.push(
      Array.from(
        { length: block.count },
        (_, i): Field => [
          text(nameStart(block, i), nameEnd(block, i)),
          text(valueStart(block, i), valueEnd(block, i)),
        ],
      ),
    )
  }
  return all
}

function readPlainly(blocks: readonly Buffer[], decoder: PlainDecoder) {
  const all: (readonly Field[] | null)[] = []
  for (const bytes of blocks) {
    const fields = decoder.read(bytes) ?? null
    all.push(fields)
    if (fields === null) break
  }
  return all
}

const short = fc.stringMatching(/^[a-z0-9 \xe4]{0,12}$/)
const field = fc.tuple(
  fc.constantFrom(':path', 'accept', 'date', 'set-cookie', 'x-a', 'etag', `x-${'l'.repeat(200)}`),
  fc.oneof(
    short,
    short,
    fc.constantFrom('v'.repeat(400), 'gzip, deflate', '/index.html', '\xff\0'),
  ),
)
/** A change of the table size, or none, followed by fields. */
const message = fc.tuple(fc.option(fc.nat(4_200)), fc.array(field, { maxLength: 6 }))
const messages = fc.array(message, { minLength: 1, maxLength: 8 })
type Messages = readonly (readonly [number | null, readonly Field[]])[]

function writtenByUs(list: Messages): Buffer[] {
  const encoder = new HpackEncoder()
  return list.map(([size, fields]) => {
    if (size !== null) encoder.limitTable(size)
    encoder.begin()
    for (const [name, value] of fields) encoder.field(name, value)
    return Buffer.from(encoder.bytes.subarray(0, encoder.length))
  })
}

const forGo = (list: Messages) =>
  list.map(([size, fields]) => [size === null ? '9999' : `${size}`, ...fields.flat()])

const change = fc.record({
  which: fc.nat(7),
  at: fc.nat(4_000),
  byte: fc.oneof(fc.nat(255), fc.constantFrom(0, 0x1f, 0x3f, 0x7f, 0x80, 0xff)),
  how: fc.constantFrom('set', 'set', 'flip', 'insert', 'remove', 'cut', 'repeat'),
})
type Change = typeof change extends fc.Arbitrary<infer Own> ? Own : never

function mutated(blocks: readonly Buffer[], changes: readonly Change[]): readonly Buffer[] {
  const all = [...blocks]
  for (const { which, at, byte, how } of changes) {
    const i = which % all.length
    const bytes = Buffer.from(all[i] as Buffer)
    const place = at % Math.max(1, bytes.length)
    const around = (put: Buffer, behind: number) =>
      Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(behind)])
    if (how === 'insert') all[i] = around(Buffer.from([byte]), place)
    else if (how === 'remove') all[i] = around(Buffer.alloc(0), place + 1)
    else if (how === 'cut') all[i] = bytes.subarray(0, place)
    else if (how === 'repeat') all.splice(i, 0, bytes)
    else if (bytes.length > 0) {
      bytes[place] = how === 'set' ? byte : (bytes[place] as number) ^ (1 << (byte & 7))
      all[i] = bytes
    }
  }
  return all
}

describe('header blocks, compared with Go', { skip: WITHOUT_GO }, () => {
  let go: GoWire
  before(() => {
    go = new GoWire()
  })
  after(() => go.close())

  /** Runs in batches, since the process handles many cases per call. */
  async function inBatches<T>(
    cases: fc.Arbitrary<T>,
    share: number,
    look: (batch: readonly T[]) => Promise<void>,
  ): Promise<void> {
    const { numRuns, seed } = fuzz(share, 8 * BATCH * share)
    for (let done = 0; done < numRuns; done += BATCH)
      await look(fc.sample(cases, { numRuns: BATCH, seed: seed + done }))
  }

  const base64 = (blocks: readonly Buffer[]) => blocks.map((bytes) => bytes.toString('base64'))

  it('Go reads what we write, and we read what Go writes', () =>
    inBatches(messages, 0.5, async (batch) => {
      const blocks = batch.map(writtenByUs)
      const { read, written } = await go.ask({
        blocks: blocks.map(base64),
        fields: batch.map(forGo),
      })
      for (const [i, list] of batch.entries()) {
        const fields = list.map(([, own]) => own)
        assert.deepEqual(read?.[i], fields)
        const theirs = written?.[i]?.map((own) => Buffer.from(own, 'base64')) ?? []
        assert.deepEqual(readByUs(theirs), fields)
      }
    }))

  it('mutated blocks are read or rejected as Go does', async (test) => {
    let compared = 0
    const cases = fc.tuple(messages, fc.array(change, { minLength: 1, maxLength: 4 }))
    await inBatches(cases, 1, async (batch) => {
      const { written = [] } = await go.ask({ fields: batch.map(([list]) => forGo(list)) })
      const blocks = batch.flatMap(([list, changes], i) => [
        mutated(writtenByUs(list), changes),
        mutated(
          (written[i] ?? []).map((own) => Buffer.from(own, 'base64')),
          changes,
        ),
      ])
      const { read } = await go.ask({ blocks: blocks.map(base64) })
      for (const [i, own] of blocks.entries()) {
        const ours = readByUs(own)
        compared += ours.length
        // Only these rules may cause a difference.
        if (JSON.stringify(ours) === JSON.stringify(read?.[i])) continue
        assert.deepEqual(readPlainly(own, plainGo()), read?.[i], JSON.stringify(base64(own)))
        assert.deepEqual(ours, readPlainly(own, new PlainDecoder()), JSON.stringify(base64(own)))
      }
    })
    test.diagnostic(`${compared} blocks compared`)
  })
})
