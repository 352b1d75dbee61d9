import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type LineBits, packLines } from '../line-bits.ts'

const PRODUCT = pathToFileURL(resolve('src')).href
const NOT_PRODUCT = /\.test\.ts$|\/testdata\//

/** Which lines of src run, as V8 counts them. */
export class LineCoverage {
  readonly #session = new Session()
  readonly #texts = new Map<string, readonly string[]>()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Those in functions since the last call. */
  take(): LineBits {
    const bits: Record<string, string> = {}
    // For its own thread, it calls back before it returns.
    this.#session.post('Profiler.takePreciseCoverage', (_, { result }) => {
      for (const { url, functions } of result) {
        if (!url.startsWith(PRODUCT) || NOT_PRODUCT.test(url)) continue
        const path = url.slice(PRODUCT.length - 'src'.length).replace(/\?.*$/, '')
        const lines = ranLines(this.#textOf(url), functions.flatMap(rangesOf))
        if (lines.size > 0) bits[path] = packLines(lines)
      }
    })
    return bits
  }

  #textOf(url: string): readonly string[] {
    const known = this.#texts.get(url)
    const text = known ?? readFileSync(fileURLToPath(url), 'utf8').split('\n')
    this.#texts.set(url, text)
    return text
  }
}

/** Without those of the function that is the module. */
function rangesOf({ ranges }: { readonly ranges: readonly Range[] }): readonly Range[] {
  return ranges[0]?.startOffset === 0 ? [] : ranges
}

export interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * Lines of which some part ran, from 1. Inner ranges follow the outer ones that they correct; what
 * is in no range did not run.
 */
export function ranLines(text: readonly string[], ranges: readonly Range[]): ReadonlySet<number> {
  const lines = new Set<number>()
  const starts = startsOf(text)
  for (const { startOffset, endOffset, count } of ranges) {
    const first = lineAt(starts, startOffset)
    const last = lineAt(starts, endOffset - 1)
    for (let line = first; line <= last; line++) {
      const start = starts[line - 1] ?? 0
      const code = text[line - 1] ?? ''
      const from = Math.max(0, startOffset - start)
      if (count > 0) lines.add(line)
      else if (isBlank(code.slice(0, from)) && isBlank(code.slice(endOffset - start))) {
        lines.delete(line)
      }
    }
  }
  return lines
}

function startsOf(text: readonly string[]): readonly number[] {
  let start = 0
  return text.map(({ length }) => {
    const own = start
    start += length + 1
    return own
  })
}

/** The last line, from 1, that begins at the offset or before it. */
function lineAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}
