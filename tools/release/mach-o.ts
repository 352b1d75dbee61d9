import { createHash } from 'node:crypto'

/*
 * macOS on arm64 runs only signed programs, and data appended to Node invalidates its signature.
 * This writes an ad-hoc signature as linkers do: a digest of each page, without an identity.
 * https://github.com/apple-oss-distributions/xnu/blob/main/osfmk/kern/cs_blobs.h
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
/** Offset of the load commands after the header. */
const COMMANDS = 32
const SIGNATURE_COMMAND = 16
const NO_ROOM = 'the Mach-O file has no room for a signature'

interface Layout {
  /** File offsets of the load commands. */
  readonly signature: number
  readonly linkEdit: number
  readonly textOffset: bigint
  readonly textSize: bigint
}

/** Adds an ad-hoc signature to a program and replaces an existing one. */
export function signMachO(unsigned: Buffer, identifier: string): Buffer {
  const program = withSignatureCommand(unsigned)
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

/**
 * Injecting a program into Node removes the signature and the command that references it. The new
 * command goes after the last one, where linkers leave room before the first section; the
 * signature itself is appended to the file.
 */
function withSignatureCommand(program: Buffer): Buffer {
  const commands = [...commandsOf(program)]
  if (commands.some(({ kind }) => kind === CODE_SIGNATURE)) return program
  const end = COMMANDS + program.readUInt32LE(20)
  const first = Math.min(...commands.flatMap(({ at, kind }) => sectionsOf(program, at, kind)))
  if (end + SIGNATURE_COMMAND > first) throw new Error(NO_ROOM)
  const codeSize = Number(roundUp(BigInt(program.length), 16n))
  const made = Buffer.concat([program, Buffer.alloc(codeSize - program.length)])
  made.writeUInt32LE(commands.length + 1, 16)
  made.writeUInt32LE(end - COMMANDS + SIGNATURE_COMMAND, 20)
  const words = [CODE_SIGNATURE, SIGNATURE_COMMAND, codeSize, 0]
  for (const [index, word] of words.entries()) made.writeUInt32LE(word, end + 4 * index)
  return made
}

interface Command {
  readonly at: number
  readonly kind: number
}

function* commandsOf(program: Buffer): Iterable<Command> {
  if (program.readUInt32LE(0) !== MAGIC_64) throw new Error('this is no 64-bit Mach-O file')
  const count = program.readUInt32LE(16)
  for (let index = 0, at = COMMANDS; index < count; index++) {
    yield { at, kind: program.readUInt32LE(at) }
    at += program.readUInt32LE(at + 4)
  }
}

/** File offsets of the sections of a segment. */
function sectionsOf(program: Buffer, at: number, kind: number): readonly number[] {
  if (kind !== SEGMENT_64) return []
  const count = program.readUInt32LE(at + 64)
  const offsets = Array.from({ length: count }, (_, i) =>
    program.readUInt32LE(at + 72 + i * 80 + 48),
  )
  return offsets.filter((offset) => offset > 0)
}

function layoutOf(program: Buffer): Layout {
  let [signature, linkEdit, text] = [0, 0, 0]
  for (const { at, kind } of commandsOf(program)) {
    if (kind === CODE_SIGNATURE) signature = at
    if (kind === SEGMENT_64) {
      const segment = program.toString('latin1', at + 8, at + 24).replace(/\0+$/, '')
      if (segment === '__LINKEDIT') linkEdit = at
      if (segment === '__TEXT') text = at
    }
  }
  if (signature === 0 || linkEdit === 0 || text === 0) {
    throw new Error(NO_ROOM)
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
