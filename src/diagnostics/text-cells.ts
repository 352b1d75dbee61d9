/** What a terminal shows for one user-perceived character. */
export interface Cell {
  readonly shown: string
  /** Columns that `shown` takes: 2 for wide characters and emoji. */
  readonly width: number
  /** UTF-16 offsets into the line, end exclusive. */
  readonly start: number
  readonly end: number
}

const TAB_WIDTH = 4

/** Created when there is something to show: that takes longer than reading a configuration. */
let graphemes: Intl.Segmenter | undefined

/** Tabs become spaces and invisible characters become visible, so that columns add up. */
export function cellsOf(line: string): readonly Cell[] {
  const cells: Cell[] = []
  let column = 0
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const { segment, index } of graphemes.segment(line)) {
    const shown = segment === '\t' ? ' '.repeat(TAB_WIDTH - (column % TAB_WIDTH)) : visible(segment)
    const width = segment === '\t' ? shown.length : widthOf(shown)
    cells.push({ shown, width, start: index, end: index + segment.length })
    column += width
  }
  return cells
}

/**
 * Text from users and clients ends up on terminals: escape sequences must not move the cursor, and
 * direction marks must not reorder what the reader sees. Line breaks become spaces.
 */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n|[\n\r\u2028\u2029]/g, ' ')
    .replace(/\p{Cc}/gu, pictureOf)
    .replace(/\p{Bidi_Control}|[\u200b\u2060\ufeff]/gu, '\ufffd')
}

/** U+2400 and following depict the ASCII control characters; those above ASCII have no pictures. */
function pictureOf(control: string): string {
  const code = control.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\ufffd'
}

function widthOf(grapheme: string): number {
  const first = grapheme.codePointAt(0) ?? 0
  if (first < 0x300) return 1
  if (/^\p{Emoji_Presentation}/u.test(grapheme) || grapheme.includes('\ufe0f')) return 2
  if (/^[\p{M}\p{Cf}]+$/u.test(grapheme)) return 0
  return isWide(first) ? 2 : 1
}

/** East Asian Wide and Fullwidth (UAX #11), as blocks; emoji have their own property. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x1b2ff],
  [0x1f200, 0x1f265],
  [0x20000, 0x3fffd],
]

function isWide(codePoint: number): boolean {
  return WIDE.some(([from, to]) => codePoint >= from && codePoint <= to)
}
