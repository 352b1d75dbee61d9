export interface DiffLine {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
}

const MAX_CELLS = 4_000_000

/** Keeps the longest common subsequence of lines; removes or adds the rest. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const [rows, columns] = [old.length + 1, now.length + 1]
  // For resources of thousands of lines: all of one, then all of the other.
  if (rows * columns > MAX_CELLS) return [...signed('-', old), ...signed('+', now)]
  const common = new Uint32Array(rows * columns)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i * columns + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i] as string })
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push({ sign: '-', text: old[i++] as string })
    else lines.push({ sign: '+', text: now[j++] as string })
  }
  return [...lines, ...signed('-', old.slice(i)), ...signed('+', now.slice(j))]

  function at(row: number, column: number): number {
    return common[row * columns + column] ?? 0
  }
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function signed(sign: DiffLine['sign'], lines: readonly string[]): readonly DiffLine[] {
  return lines.map((text) => ({ sign, text }))
}
