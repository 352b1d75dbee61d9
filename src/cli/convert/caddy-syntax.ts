import { ConvertError } from './nginx-syntax.ts'

export interface Line {
  readonly words: readonly string[]
  readonly line: number
  readonly block: readonly Line[] | undefined
}

/** Parses sites and global options, with snippets expanded where they are imported. */
export function parseCaddyfile(text: string): readonly Line[] {
  const lines = parse(text)
  const snippets = new Map(
    lines.flatMap(({ words: [name = ''], block = [] }) =>
      /^\([\w-]+\)$/.test(name) ? [[name.slice(1, -1), block] as const] : [],
    ),
  )
  const isSnippet = ({ words: [name = ''] }: Line) => snippets.has(name.replace(/^\((.*)\)$/, '$1'))
  return lines
    .filter((one) => !(one.words[0]?.startsWith('(') === true && isSnippet(one)))
    .map((one) => withSnippets(one, snippets, 0))
}

const MAX_DEPTH = 10

/** Expands `import NAME` without arguments; files and other forms are kept. */
function withSnippets(
  line: Line,
  snippets: ReadonlyMap<string, readonly Line[]>,
  depth: number,
): Line {
  if (line.block === undefined) return line
  const block = line.block.flatMap((one): readonly Line[] => {
    const [word, name = '', ...args] = one.words
    const snippet = word === 'import' && args.length === 0 ? snippets.get(name) : undefined
    if (snippet === undefined) return [withSnippets(one, snippets, depth)]
    if (depth === MAX_DEPTH) throw new ConvertError(one.line, `\`${name}\` imports itself`)
    const { block: own = [] } = withSnippets({ ...one, block: snippet }, snippets, depth + 1)
    return own
  })
  return { ...line, block }
}

function parse(text: string): readonly Line[] {
  const root: { words: string[]; line: number; block: Line[] } = { words: [], line: 1, block: [] }
  const open = [root]
  for (const [index, raw] of text.split('\n').entries()) {
    const line = index + 1
    const words = wordsOf(raw, line)
    if (words.length === 0) continue
    const top = open.at(-1) as typeof root
    if (words.length === 1 && words[0] === '}') {
      if (open.length === 1) throw new ConvertError(line, 'unexpected `}`')
      open.pop()
    } else if (words.at(-1) === '{') {
      const inner = { words: words.slice(0, -1), line, block: [] }
      top.block.push(inner)
      open.push(inner)
    } else top.block.push({ words, line, block: undefined })
  }
  const last = open.at(-1) as typeof root
  if (open.length > 1) throw new ConvertError(last.line, '`{` is not closed')
  // A file with a single site may omit the braces.
  const [first, ...rest] = root.block
  const isBare = first !== undefined && first.block === undefined
  return isBare ? [{ words: first.words, line: first.line, block: rest }] : root.block
}

function wordsOf(raw: string, line: number): string[] {
  const words: string[] = []
  for (const [, double, back, bare] of raw.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`|(\S+)/g)) {
    if (bare?.startsWith('#') === true) break
    if (bare?.startsWith('"') === true) throw new ConvertError(line, 'a quote is not closed')
    words.push(double?.replace(/\\(.)/g, '$1') ?? back ?? bare ?? '')
  }
  return words
}
