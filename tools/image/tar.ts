/** An entry of an archive; all entries belong to root and have no date. */
export type TarEntry =
  | {
      readonly kind: 'file'
      readonly path: string
      readonly bytes: Uint8Array
      readonly mode?: number
    }
  | { readonly kind: 'folder'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

const BLOCK = 512
const TYPES = { file: '0', link: '2', folder: '5' } as const

/** Writes a tar archive (ustar). The same entries produce the same bytes. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const bytes = entry.kind === 'file' ? entry.bytes : new Uint8Array(0)
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)
    return [writeHeader(entry, bytes.length), bytes, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

function writeHeader(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  const path = entry.kind === 'folder' ? `${entry.path}/` : entry.path
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for an archive`)
  header.write(path, 0)
  header.write(octal(modeOf(entry), 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(0, 12), 136)
  header.write(' '.repeat(8), 148)
  header.write(TYPES[entry.kind], 156)
  if (entry.kind === 'link') header.write(entry.target, 157)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 7)}\x00 `.slice(-8), 148)
  return header
}

function modeOf(entry: TarEntry): number {
  if (entry.kind === 'link') return 0o777
  return entry.mode ?? (entry.kind === 'folder' ? 0o755 : 0o644)
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, '0')
}
