import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { signMachO } from './mach-o.ts'

const PAGE = 4096

/** A program with the relevant load commands, and `code` bytes before its signature. */
function program(code: number, oldSignature: number): Buffer {
  const bytes = Buffer.alloc(code + oldSignature, 7)
  bytes.fill(0, 0, 512)
  bytes.writeUInt32LE(0xfeedfacf, 0)
  bytes.writeUInt32LE(3, 16)
  segment(bytes, 32, '__TEXT', [0x1_0000_0000n, 0x4000n, 0n, 0x1000n])
  segment(bytes, 104, '__LINKEDIT', [
    0x1_0000_4000n,
    0x4000n,
    0x1000n,
    BigInt(code + oldSignature) - 0x1000n,
  ])
  bytes.writeUInt32LE(0x1d, 176)
  bytes.writeUInt32LE(16, 180)
  bytes.writeUInt32LE(code, 184)
  bytes.writeUInt32LE(oldSignature, 188)
  return bytes
}

function segment(bytes: Buffer, at: number, name: string, fields: readonly bigint[]): void {
  bytes.writeUInt32LE(0x19, at)
  bytes.writeUInt32LE(72, at + 4)
  bytes.write(name, at + 8)
  for (const [index, field] of fields.entries()) bytes.writeBigUInt64LE(field, at + 24 + 8 * index)
}

describe('the ad-hoc signature of a program for macOS', () => {
  const code = 3 * PAGE + 100
  const signed = signMachO(program(code, 64), 'portcullis')
  const blob = signed.subarray(code)
  const directory = blob.subarray(20)

  it('has the digest of every page of the signed program', () => {
    const start = directory.readUInt32BE(16)
    assert.equal(directory.readUInt32BE(28), 4)
    for (let page = 0; page < 4; page++) {
      const bytes = signed.subarray(page * PAGE, Math.min((page + 1) * PAGE, code))
      const digest = createHash('sha256').update(bytes).digest()
      assert.ok(digest.equals(directory.subarray(start + 32 * page, start + 32 * page + 32)))
    }
    assert.equal(directory.length, start + 4 * 32)
  })

  it('has the length in the load commands and reaches the end of the file', () => {
    assert.equal(signed.readUInt32LE(188), blob.length)
    assert.equal(blob.readUInt32BE(4), blob.length)
    assert.equal(
      signed.readBigUInt64LE(104 + 40) + signed.readBigUInt64LE(104 + 48),
      BigInt(signed.length),
    )
  })

  it('replaces the previous signature: signing again changes nothing', () => {
    assert.ok(signMachO(signed, 'portcullis').equals(signed))
  })

  it('is ad hoc, with a name', () => {
    assert.equal(directory.readUInt32BE(12) & 2, 2)
    const at = directory.readUInt32BE(20)
    assert.equal(directory.toString('latin1', at, at + 11), 'portcullis\0')
  })

  it('rejects files that are not macOS programs', () => {
    assert.throws(() => signMachO(Buffer.alloc(64), 'a'), /no 64-bit Mach-O/)
  })
})

/** A program without a signature and its command; the first section starts at `firstSection`. */
function unsigned(length: number, firstSection: number): Buffer {
  const bytes = Buffer.alloc(length, 7)
  bytes.fill(0, 0, 512)
  bytes.writeUInt32LE(0xfeedfacf, 0)
  bytes.writeUInt32LE(2, 16)
  bytes.writeUInt32LE(72 + 80 + 72, 20)
  segment(bytes, 32, '__TEXT', [0x1_0000_0000n, 0x4000n, 0n, 0x1000n])
  bytes.writeUInt32LE(72 + 80, 36)
  bytes.writeUInt32LE(1, 32 + 64)
  bytes.writeUInt32LE(firstSection, 32 + 72 + 48)
  const size = BigInt(length) - 0x1000n
  segment(bytes, 184, '__LINKEDIT', [0x1_0000_4000n, 0x4000n, 0x1000n, size])
  return bytes
}

describe('the signature of an unsigned program', () => {
  const END = 32 + 72 + 80 + 72

  it('is referenced by a command after the others, and is appended to the file', () => {
    const length = 3 * PAGE + 100
    const signed = signMachO(unsigned(length, 512), 'portcullis')
    const code = length + 12
    assert.deepEqual(
      [16, 20, END, END + 4, END + 8].map((at) => signed.readUInt32LE(at)),
      [3, 72 + 80 + 72 + 16, 0x1d, 16, code],
    )
    assert.equal(signed.readUInt32LE(END + 12), signed.length - code)
    assert.equal(signed.readUInt32BE(code), 0xfade0cc0)
    assert.equal(
      signed.readBigUInt64LE(184 + 40) + signed.readBigUInt64LE(184 + 48),
      BigInt(signed.length),
    )
    assert.ok(signMachO(signed, 'portcullis').equals(signed))
  })

  it('requires room before the first section', () => {
    assert.doesNotThrow(() => signMachO(unsigned(2 * PAGE, END + 16), 'a'))
    assert.throws(() => signMachO(unsigned(2 * PAGE, END + 15), 'a'), /no room/)
  })
})
