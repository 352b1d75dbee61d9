import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { FieldBlock, nameEnd, nameStart, valueEnd, valueStart } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'

/**
 * The stories of http2jp/hpack-test-case: a folder for each encoder, a file for each connection.
 */
const FOLDER =
  process.env.HPACK_VECTORS ?? join(import.meta.dirname, '../../../../shared/data/hpack')
/** The table size that the gateway announces; vectors with a larger one do not apply. */
const MAX_TABLE = 4_096

interface Story {
  readonly cases: readonly {
    readonly header_table_size?: number
    readonly wire?: string
    readonly headers: readonly Readonly<Record<string, string>>[]
  }[]
}

type Lines = readonly string[]

const linesOf = (headers: Story['cases'][number]['headers']): Lines =>
  headers.flatMap((one) => Object.entries(one).map(([name, value]) => `${name}: ${value}`))

const block = new FieldBlock()

function read(decoder: HpackDecoder, bytes: Buffer): Lines | undefined {
  if (!decoder.read(bytes, 0, bytes.length, block)) return undefined
  const text = (from: number, to: number) => block.bytes.toString('latin1', from, to)
  return Array.from({ length: block.count }, (_, i) => {
    const name = text(nameStart(block, i), nameEnd(block, i))
    return `${name}: ${text(valueStart(block, i), valueEnd(block, i))}`
  })
}

function storiesIn(folder: string): readonly Story[] {
  const files = readdirSync(join(FOLDER, folder)).filter((name) => /^story_\d+\.json$/.test(name))
  const all = files.map((name) => JSON.parse(readFileSync(join(FOLDER, folder, name), 'utf8')))
  return all.filter(({ cases }: Story) =>
    cases.every(({ header_table_size: size = MAX_TABLE }) => size <= MAX_TABLE),
  )
}

const isThere = existsSync(FOLDER)
const folders = isThere
  ? readdirSync(FOLDER, { withFileTypes: true }).filter((own) => own.isDirectory())
  : []

describe('public HPACK vectors', { skip: isThere ? false : `no vectors in ${FOLDER}` }, () => {
  for (const { name } of folders) {
    const stories = storiesIn(name)
    if (stories.length === 0) continue
    it(`${name}: what is on the wire is read, and read back from our own encoder`, () => {
      for (const { cases } of stories) {
        const [decoder, own] = [new HpackDecoder(1_000_000), new HpackDecoder(1_000_000)]
        const encoder = new HpackEncoder()
        for (const { wire, headers, header_table_size: size } of cases) {
          const lines = linesOf(headers)
          if (wire !== undefined) assert.deepEqual(read(decoder, Buffer.from(wire, 'hex')), lines)
          if (size !== undefined) encoder.limitTable(size)
          encoder.begin()
          for (const one of headers)
            for (const [field, value] of Object.entries(one)) encoder.field(field, value)
          const written = Buffer.from(encoder.bytes.subarray(0, encoder.length))
          assert.deepEqual(read(own, written), lines)
        }
      }
    })
  }
})
