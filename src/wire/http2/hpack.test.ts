import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FieldBlock } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { decodeHuffman, encodeHuffman, huffmanLength } from './huffman.ts'

const block = new FieldBlock()

/** The lines of a block, or undefined if it is malformed. */
function read(decoder: HpackDecoder, bytes: Buffer): readonly string[] | undefined {
  if (!decoder.read(bytes, 0, bytes.length, block)) return undefined
  return block.bytes.toString('latin1', 0, block.length).split('\r\n').slice(0, -1)
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

describe('blocks of RFC 7541, appendix C', () => {
  for (const [name, blocks] of [
    [
      'C.3: requests without Huffman code',
      [
        [
          '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
          ':method: GET|:scheme: http|:path: /|:authority: www.example.com',
        ],
        [
          '8286 84be 5808 6e6f 2d63 6163 6865',
          ':method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache',
        ],
        [
          '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
          ':method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value',
        ],
      ],
    ],
    [
      'C.4: the same with it',
      [
        [
          '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
          ':method: GET|:scheme: http|:path: /|:authority: www.example.com',
        ],
        [
          '8286 84be 5886 a8eb 1064 9cbf',
          ':method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache',
        ],
        [
          '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
          ':method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value',
        ],
      ],
    ],
  ] as const) {
    it(name, () => {
      const decoder = new HpackDecoder(4_096)
      for (const [bytes, lines] of blocks)
        assert.deepEqual(read(decoder, hex(bytes)), lines.split('|'))
    })
  }

  it('C.6: a table of 256 bytes with evictions', () => {
    const decoder = new HpackDecoder(4_096)
    const first = [
      ':status: 302',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:21 GMT',
      'location: https://www.example.com',
    ]
    // §4.2: the size update comes first.
    const [size, responses] = [
      '3fe1 01',
      [
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
    ] as const
    assert.deepEqual(read(decoder, hex(size + responses[0])), first)
    assert.deepEqual(read(decoder, hex(responses[1])), [':status: 307', ...first.slice(1)])
    assert.deepEqual(read(decoder, hex(responses[2])), [
      ':status: 200',
      'cache-control: private',
      'date: Mon, 21 Oct 2013 20:13:22 GMT',
      'location: https://www.example.com',
      'content-encoding: gzip',
      'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ])
  })
})

describe('invalid blocks', () => {
  for (const [name, bytes] of [
    ['the index 0', '80'],
    ['an index beyond both tables', 'be'],
    ['an index that does not end', 'ff ff ff ff ff ff 0f'],
    ['the name of an index beyond both tables', '7f 20 01 61'],
    ['a text that is longer than the block', '00 01 61 05 61'],
    ['no value', '00 01 61'],
    ['a table that is larger than was told', '3f e2 1f'],
    ['a size behind a field', '82 20'],
    ['padding of zeros', '00 01 61 81 18'],
    ['padding of more than seven bits', '00 01 61 82 1f ff'],
    ['the end of text within it', '00 01 61 84 ff ff ff ff'],
  ] as const) {
    it(name, () => assert.equal(read(new HpackDecoder(4_096), hex(bytes)), undefined))
  }

  it('any input is decoded or rejected, at a cost bounded by its bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (blocks) => {
        const decoder = new HpackDecoder(1_000)
        for (const bytes of blocks) if (read(decoder, Buffer.from(bytes)) === undefined) return
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('HPACK limits', () => {
  it('fields beyond the size are dropped, and the table stays valid', () => {
    const decoder = new HpackDecoder(100)
    const long = Buffer.concat([hex('40 01 61 78'), Buffer.alloc(120, 'v')])
    assert.deepEqual(read(decoder, long), [])
    assert.equal(block.isTooLarge, true)
    // The entry exists: a thousand references to it take no room.
    assert.deepEqual(read(decoder, Buffer.alloc(1_000, 0xbe)), [])
    assert.equal(block.size, 153_000)
    assert.deepEqual(read(decoder, hex('82')), [':method: GET'])
    assert.equal(block.isTooLarge, false)
  })

  it('a verdict is cached with its field', () => {
    const decoder = new HpackDecoder(4_096)
    for (const bytes of ['40 01 61 01 0a', 'be', '82']) {
      read(decoder, hex(bytes))
      assert.equal(block.verdict < 0, bytes !== '82')
    }
    // The name alone is valid.
    read(decoder, hex('7e 01 62'))
    assert.equal(block.verdict, 1)
  })

  it('secrets are never indexed', () => {
    const encoder = new HpackEncoder()
    for (const name of ['set-cookie', 'authorization', 'x-api-key']) {
      for (let i = 0; i < 2; i++) {
        encoder.begin()
        encoder.field(name, 'secret')
        assert.equal((encoder.bytes[0] as number) & 0xf0, 0x10)
      }
    }
  })
})

describe('round trips', () => {
  it('Huffman code of any bytes', () => {
    const [code, text] = [Buffer.alloc(1_000), Buffer.alloc(1_000)]
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const given = Buffer.from(bytes).toString('latin1')
        const end = encodeHuffman(given, code, 0)
        assert.equal(end, huffmanLength(given))
        assert.equal(text.toString('latin1', 0, decodeHuffman(code, 0, end, text, 0)), given)
      }),
    )
  })

  it('encoded fields are decoded, with any table size', () => {
    const name = fc.constantFrom(
      'date',
      'x-a',
      'set-cookie',
      'etag',
      'server',
      `x-${'l'.repeat(90)}`,
    )
    const value = fc.oneof(fc.constantFrom('', '1', '2'), fc.stringMatching(/^[!-~]{0,300}$/))
    const message = fc.record({
      size: fc.option(fc.constantFrom(0, 40, 100, 1_000, 4_096, 70_000)),
      status: fc.constantFrom(200, 403, 404, 599),
      fields: fc.array(fc.tuple(name, value), { maxLength: 8 }),
    })
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (messages) => {
        const encoder = new HpackEncoder()
        const decoder = new HpackDecoder(1_000_000)
        for (const { size, status, fields } of messages) {
          if (size !== null) encoder.limitTable(size)
          encoder.begin()
          encoder.status(status)
          for (const [own, text] of fields) encoder.field(own, text)
          const lines = [`:status: ${status}`, ...fields.map(([own, text]) => `${own}: ${text}`)]
          const bytes = encoder.bytes.subarray(0, encoder.length)
          assert.deepEqual(read(decoder, bytes), lines)
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('the size of a block', () => {
  const name = fc.stringMatching(/^[a-z]{1,12}$/)
  const value = fc.stringMatching(/^[A-Za-z0-9]{0,30}$/)
  const fields = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 12 })

  it('counts each field with 32 bytes more, and keeps fields up to the limit', () => {
    fc.assert(
      fc.property(fields, fc.nat(600), fc.constantFrom(0x00, 0x10, 0x40), (all, limit, form) => {
        const sizes = all.map(([name, value]) => name.length + value.length + 32)
        const whole = sizes.reduce((sum, size) => sum + size, 0)
        for (const max of [limit, whole, whole - 1]) {
          const literals = all.map(([name, value]) =>
            Buffer.from([
              form,
              name.length,
              ...Buffer.from(name),
              value.length,
              ...Buffer.from(value),
            ]),
          )
          const decoder = new HpackDecoder(max)
          const lines = read(decoder, Buffer.concat(literals)) ?? assert.fail('malformed')
          let [left, kept] = [max, 0]
          while (kept < all.length && (left -= sizes[kept] as number) >= 0) kept++
          assert.equal(block.isTooLarge, whole > max)
          assert.equal(block.size, whole)
          assert.deepEqual(
            lines,
            all.slice(0, kept).map(([name, value]) => `${name}: ${value}`),
          )
          // Fields that were left out are in the table, as the encoder expects.
          if (form !== 0x40) continue
          const indexed = Buffer.from(all.map((_, at) => 0x80 | (62 + all.length - 1 - at)))
          assert.deepEqual(read(decoder, indexed), lines)
          assert.equal(block.isTooLarge, whole > max)
        }
      }),
      { numRuns: 150, seed: 26 },
    )
  })
})
