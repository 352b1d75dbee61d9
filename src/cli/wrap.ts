/**
 * Wraps our own text for narrower terminals. A line continues below its own start; a line with two
 * columns continues in the second one if there is room. If the width is undefined, the text is
 * unchanged.
 */
export function fitTo(text: string, width: number | undefined): string {
  if (width === undefined) return text
  return text
    .split('\n')
    .flatMap((line) => wrapLine(line, Math.max(width, MIN_WIDTH)))
    .join('\n')
}

const MIN_WIDTH = 20
/** A narrower column would not be easier to read. */
const MIN_COLUMN = 16

export function wrapLine(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line]
  const own = /^ */.exec(line)?.[0].length ?? 0
  const second = /^ *\S(?:.*?\S)? {2,}(?=\S)/.exec(line)?.[0].length ?? own
  const hanging = ' '.repeat(width - second >= MIN_COLUMN ? second : own + 2)
  const lines: string[] = []
  let current = ''
  let isFirst = true
  // Spaces within the first column are kept; elsewhere, several count as one.
  for (const word of wordsOf(line, second)) {
    const start = isFirst ? '' : hanging
    const joined = current === '' ? start + word : `${current} ${word}`
    if (current !== '' && joined.length > width) {
      lines.push(current)
      isFirst = false
      current = hanging + word
    } else current = joined
  }
  return [...lines, current]
}

function wordsOf(line: string, second: number): readonly string[] {
  const words = line.slice(second).split(/ +/)
  const [first = '', ...rest] = words
  return [line.slice(0, second) + first, ...rest]
}
