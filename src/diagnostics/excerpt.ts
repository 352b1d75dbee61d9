import type { Excerpt } from './diagnostic.ts'
import { type Cell, cellsOf } from './text-cells.ts'

/** A line of the excerpt and, if the span touches it, the carets to draw under it. */
export interface ExcerptLine {
  readonly text: string
  readonly carets: string
}

const LINES_SHOWN = 6
/** More of a line than any window shows; text further from the span is not examined. */
const LOOK_BACK = 256
const LOOK_AHEAD = 1024
const MAX_WINDOW = 240

/**
 * The lines that the span touches, each at most `width` columns wide. Offsets outside the text are
 * moved to its ends, and an empty span, such as the end of the text, gets one caret.
 */
export function drawExcerpt(excerpt: Excerpt, width: number): readonly ExcerptLine[] {
  const { text } = excerpt
  const start = Math.min(Math.max(excerpt.start, 0), text.length)
  const end = Math.min(Math.max(excerpt.end, start), text.length)
  const touched = linesOf(text).filter((line) => line.start <= end && line.next > start)
  // A span that ends directly after a line break does not include the next line.
  if (touched.length > 1 && touched.at(-1)?.start === end && end > start) touched.pop()
  const shown = touched.length <= LINES_SHOWN ? touched : touched.slice(0, LINES_SHOWN - 2)
  const drawn = shown.map((line) => drawLine(text, line, { start, end }, width))
  const last = touched.at(-1)
  if (shown === touched || last === undefined) return drawn
  return [...drawn, { text: '⋮', carets: '' }, drawLine(text, last, { start, end }, width)]
}

interface Range {
  readonly start: number
  readonly end: number
}

/** A line without its ending; `next` is where the next line would start. */
interface Line extends Range {
  readonly next: number
}

function linesOf(text: string): Line[] {
  const lines: Line[] = []
  let start = 0
  for (const { index, 0: ending } of text.matchAll(/\r\n|\n|\r/g)) {
    const next = index + ending.length
    lines.push({ start, end: index, next })
    start = next
  }
  lines.push({ start, end: text.length, next: Number.POSITIVE_INFINITY })
  return lines
}

function drawLine(text: string, line: Range, span: Range, width: number): ExcerptLine {
  const start = Math.min(Math.max(span.start, line.start), line.end)
  const end = Math.min(span.end, line.end)
  const near = Math.max(line.start, start - LOOK_BACK)
  const far = Math.min(line.end, start + LOOK_AHEAD)
  const cells = cellsOf(text.slice(near, far))
  const mark: Mark = {
    start: start - near,
    end: end - near,
    isPoint: span.start === span.end,
    isContinued: span.start < line.start,
  }
  const { first, last } = chooseWindow(cells, mark, Math.min(width, MAX_WINDOW))
  const window = cells.slice(first, last)
  const before = near > line.start || first > 0 ? '…' : ''
  const behind = far < line.end || last < cells.length ? '…' : ''
  return {
    text: before + window.map((cell) => cell.shown).join('') + behind,
    carets: drawCarets(window, mark, ' '.repeat(before.length)),
  }
}

/** The part of the span in one line, as offsets into the cells' text. */
interface Mark extends Range {
  readonly isPoint: boolean
  readonly isContinued: boolean
}

/** The whole line if it fits, else as much as fits with the start of the span in it. */
function chooseWindow(cells: readonly Cell[], mark: Mark, width: number) {
  if (widthOf(cells) <= width) return { first: 0, last: cells.length }
  const room = Math.max(width - 2, 8)
  const index = cells.findIndex((cell) => cell.end > mark.start)
  let first = index === -1 ? cells.length : index
  const spanned = widthOf(cells.slice(first).filter((cell) => cell.start < mark.end))
  // A short span is centered; of a long one, the beginning matters.
  let spare = Math.max(Math.floor((room - spanned) / 2), Math.floor(room / 4))
  for (let cell = cells[first - 1]; cell && cell.width <= spare; cell = cells[first - 1]) {
    spare -= cell.width
    first--
  }
  let last = first
  let free = room
  for (let cell = cells[last]; cell && cell.width <= free; cell = cells[last]) {
    free -= cell.width
    last++
  }
  return { first, last }
}

function drawCarets(cells: readonly Cell[], mark: Mark, indent: string): string {
  let carets = indent
  let marked = 0
  for (const cell of cells) {
    if (cell.start >= mark.end && !(mark.isPoint && cell.end > mark.start)) break
    const isBefore = cell.end <= mark.start
    const isMargin = mark.isContinued && marked === 0 && cell.shown.trim() === ''
    if (isBefore || isMargin) carets += ' '.repeat(cell.width)
    else {
      marked += cell.width
      carets += '^'.repeat(cell.width)
      if (mark.isPoint) break
    }
  }
  if (marked > 0) return carets
  // Nothing to underline: a point after the text gets its caret, a blank line in a block gets none.
  return mark.isPoint || !mark.isContinued ? `${carets}^` : ''
}

function widthOf(cells: readonly Cell[]): number {
  return cells.reduce((sum, cell) => sum + cell.width, 0)
}
