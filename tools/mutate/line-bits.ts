/** Lines by file, as bits in base64, since there are many such sets. */
export type LineBits = Readonly<Record<string, string>>

/** `lines` is not empty. */
export function packLines(lines: ReadonlySet<number>): string {
  const bytes = Buffer.alloc((Math.max(...lines) >> 3) + 1)
  for (const line of lines) bytes[line >> 3] = (bytes[line >> 3] ?? 0) | (1 << (line & 7))
  return bytes.toString('base64')
}

export function hasLine(bits: LineBits, file: string, line: number): boolean {
  const bytes = Buffer.from(bits[file] ?? '', 'base64')
  return ((bytes[line >> 3] ?? 0) & (1 << (line & 7))) !== 0
}

export function joinBits(a: LineBits, b: LineBits): LineBits {
  const joined: Record<string, string> = { ...a }
  for (const [file, text] of Object.entries(b)) joined[file] = either(a[file] ?? '', text)
  return joined
}

function either(a: string, b: string): string {
  const [long, short] = [a, b]
    .map((text) => Buffer.from(text, 'base64'))
    .toSorted((one, other) => other.length - one.length)
  for (const [index, byte] of (short ?? []).entries()) {
    if (long !== undefined) long[index] = (long[index] ?? 0) | byte
  }
  return long?.toString('base64') ?? ''
}
