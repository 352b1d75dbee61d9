/** A directive: `name args;` or `name args { … }`. */
export interface Directive {
  readonly name: string
  readonly args: readonly string[]
  readonly line: number
  readonly block: readonly Directive[] | undefined
}

/** An error in a file to be converted. */
export class ConvertError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

interface Token {
  readonly text: string
  readonly line: number
  /** `{`, `}` and `;` outside quotes. */
  readonly isMark: boolean
}

const MAX_DEPTH = 32

export function parseNginx(text: string): readonly Directive[] {
  const tokens = tokensOf(text)
  const state = { at: 0 }
  const directives = readBlock(tokens, state, 0)
  const rest = tokens[state.at]
  if (rest !== undefined) throw new ConvertError(rest.line, 'unexpected `}`')
  return directives
}

export function renderDirective({ name, args, block }: Directive): string {
  return [name, ...args].join(' ') + (block === undefined ? '' : ' { … }')
}

function readBlock(
  tokens: readonly Token[],
  state: { at: number },
  depth: number,
): readonly Directive[] {
  const directives: Directive[] = []
  for (let first = tokens[state.at]; first !== undefined; first = tokens[state.at]) {
    if (first.isMark && first.text === '}') break
    if (first.isMark) throw new ConvertError(first.line, `unexpected \`${first.text}\``)
    if (depth > MAX_DEPTH) throw new ConvertError(first.line, 'blocks are nested too deeply')
    const args: string[] = []
    let mark = tokens[++state.at]
    for (; mark !== undefined && !mark.isMark; mark = tokens[++state.at]) args.push(mark.text)
    if (mark === undefined || mark.text === '}') {
      throw new ConvertError(first.line, `\`${first.text}\` does not end with \`;\``)
    }
    state.at++
    let block: readonly Directive[] | undefined
    if (mark.text === '{') {
      block = readBlock(tokens, state, depth + 1)
      if (tokens[state.at] === undefined) throw new ConvertError(mark.line, '`{` is not closed')
      state.at++
    }
    directives.push({ name: first.text, args, line: first.line, block })
  }
  return directives
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let line = 1
  let at = 0
  while (at < text.length) {
    const char = text[at] as string
    if (char === '\n') line++
    if (/\s/.test(char)) at++
    else if (char === '#') {
      while (at < text.length && text[at] !== '\n') at++
    } else if ('{};'.includes(char)) {
      tokens.push({ text: char, line, isMark: true })
      at++
    } else {
      const began = line
      const word = char === '"' || char === "'" ? quoted(text, at, line) : bare(text, at)
      line += text.slice(at, word.end).split('\n').length - 1
      at = word.end
      tokens.push({ text: word.text, line: began, isMark: false })
    }
  }
  return tokens
}

function quoted(text: string, from: number, line: number) {
  let content = ''
  for (let at = from + 1; at < text.length; at++) {
    const char = text[at] as string
    if (char === text[from]) return { text: content, end: at + 1 }
    if (char === '\\' && (text[at + 1] === text[from] || text[at + 1] === '\\')) {
      content += text[++at]
    } else content += char
  }
  throw new ConvertError(line, 'a quote is not closed')
}

/** `${name}` and `{2}` in regular expressions are part of a word. */
function bare(text: string, from: number) {
  let at = from
  while (at < text.length) {
    const char = text[at] as string
    if (char === '\\') at++
    else if (char === '{' && text[at - 1] === '$') at = text.indexOf('}', at)
    else if (/[\s;{}]/.test(char)) break
    if (at < from) throw new ConvertError(1, 'a variable is not closed')
    at++
  }
  return { text: text.slice(from, Math.min(at, text.length)), end: Math.min(at, text.length) }
}
