import { createHash } from 'node:crypto'

/*
 * macOS on arm64 runs no program without a signature, and what is appended to Node makes its own
 * invalid. This writes the ad-hoc kind that linkers write: a digest of each page, and nobody's
 * name. https://github.com/apple-oss-distributions/xnu/blob/main/osfmk/kern/cs_blobs.h
 */
const MAGIC_64 = 0xfeedfacf
const SEGMENT_64 = 0x19
const CODE_SIGNATURE = 0x1d
const SUPER_BLOB = 0xfade0cc0
const CODE_DIRECTORY = 0xfade0c02
const VERSION = 0x20400
const AD_HOC_BY_LINKER = 0x20002
const MAIN_BINARY = 1
const SHA_256 = 2
const PAGE_BITS = 12
const PAGE = 1 << PAGE_BITS
const MEMORY_PAGE = 0x4000n
const DIGEST = 32
const SUPER_BLOB_HEADER = 12 + 8
const DIRECTORY_HEADER = 88

interface Layout {
  /** Offsets of the load commands in the file. */
  readonly signature: number
  readonly linkEdit: number
  readonly textOffset: bigint
  readonly textSize: bigint
}

/** The program with an ad-hoc signature in the place of the one that it has. */
export function signMachO(program: Buffer, identifier: string): Buffer {
  const { signature, linkEdit, textOffset, textSize } = layoutOf(program)
  const codeSize = program.readUInt32LE(signature + 8)
  const pages = Math.ceil(codeSize / PAGE)
  const name = Buffer.from(`${identifier}\0`)
  const directorySize = DIRECTORY_HEADER + name.length + pages * DIGEST
  const size = SUPER_BLOB_HEADER + directorySize
  const signed = Buffer.alloc(codeSize + size)
  program.copy(signed, 0, 0, codeSize)
  signed.writeUInt32LE(size, signature + 12)
  const linkEditStart = signed.readBigUInt64LE(linkEdit + 40)
  const linkEditSize = BigInt(signed.length) - linkEditStart
  signed.writeBigUInt64LE(linkEditSize, linkEdit + 48)
  const memory = signed.readBigUInt64LE(linkEdit + 32)
  if (linkEditSize > memory) {
    signed.writeBigUInt64LE(roundUp(linkEditSize, MEMORY_PAGE), linkEdit + 32)
  }

  const blob = signed.subarray(codeSize)
  writeWords(blob, 0, [SUPER_BLOB, size, 1, 0, SUPER_BLOB_HEADER])
  const directory = blob.subarray(SUPER_BLOB_HEADER)
  const digests = DIRECTORY_HEADER + name.length
  writeWords(directory, 0, [
    CODE_DIRECTORY,
    directorySize,
    VERSION,
    AD_HOC_BY_LINKER,
    digests,
    DIRECTORY_HEADER,
    0,
    pages,
    codeSize,
  ])
  directory.set([DIGEST, SHA_256, 0, PAGE_BITS], 36)
  directory.writeBigUInt64BE(textOffset, 64)
  directory.writeBigUInt64BE(textSize, 72)
  directory.writeBigUInt64BE(BigInt(MAIN_BINARY), 80)
  name.copy(directory, DIRECTORY_HEADER)
  for (let page = 0; page < pages; page++) {
    const bytes = signed.subarray(page * PAGE, Math.min((page + 1) * PAGE, codeSize))
    createHash('sha256')
      .update(bytes)
      .digest()
      .copy(directory, digests + page * DIGEST)
  }
  return signed
}

function layoutOf(program: Buffer): Layout {
  if (program.readUInt32LE(0) !== MAGIC_64) throw new Error('this is no 64-bit Mach-O file')
  const commands = program.readUInt32LE(16)
  let [signature, linkEdit, text] = [0, 0, 0]
  for (let index = 0, at = 32; index < commands; index++) {
    const kind = program.readUInt32LE(at)
    if (kind === CODE_SIGNATURE) signature = at
    if (kind === SEGMENT_64) {
      const segment = program.toString('latin1', at + 8, at + 24).replace(/\0+$/, '')
      if (segment === '__LINKEDIT') linkEdit = at
      if (segment === '__TEXT') text = at
    }
    at += program.readUInt32LE(at + 4)
  }
  if (signature === 0 || linkEdit === 0 || text === 0) {
    throw new Error('the Mach-O file has no room for a signature')
  }
  return {
    signature,
    linkEdit,
    textOffset: program.readBigUInt64LE(text + 40),
    textSize: program.readBigUInt64LE(text + 48),
  }
}

function writeWords(bytes: Buffer, from: number, words: readonly number[]): void {
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, from + 4 * index)
}

function roundUp(value: bigint, unit: bigint): bigint {
  return ((value + unit - 1n) / unit) * unit
}
