import type { ErrorCode, YAMLError } from 'yaml'
import type { Problem } from './problem.ts'

/**
 * What the parser found, in words that say what to do. Once it has lost its place it complains of
 * every token that is left, and of one mistake it often has several things to say.
 */
export function describeYamlErrors(errors: readonly YAMLError[], text: string): Problem[] {
  const reported: YAMLError[] = []
  for (const error of errors) {
    const last = reported.at(-1)
    const isEcho = last !== undefined && / token in YAML stream/.test(error.message)
    const isSameLine = last !== undefined && !text.slice(last.pos[0], error.pos[0]).includes('\n')
    if (!isEcho && !isSameLine) reported.push(error)
  }
  return reported.map((error) => describeYamlError(error, text))
}

function describeYamlError({ code, message, pos }: YAMLError, text: string): Problem {
  const [from, end] = pos
  // Indentation is not what is wrong with a line, but what begins behind it.
  const indent = code === 'BAD_INDENT' ? (/^ +/.exec(text.slice(from))?.[0].length ?? 0) : 0
  const start = from + indent
  const [words, hint] = wordsFor(code, message, start, text)
  const problem = { code: CODES[code] ?? 'PC0202', message: words, start, end }
  return hint === undefined ? problem : { ...problem, hint }
}

function wordsFor(
  code: ErrorCode,
  message: string,
  start: number,
  text: string,
): readonly [message: string, hint?: string] {
  if (isTooDeep(message)) return ['this is nested too deeply']
  const isAtEnd = text.slice(start).trim() === ''
  if (isAtEnd && (code === 'BAD_INDENT' || code === 'MISSING_CHAR')) {
    return ['the text ends before a bracket, a brace or a quote is closed']
  }
  const [, closing] = /^Flow .* end with a ([\]}])/.exec(message) ?? []
  if (code === 'BAD_INDENT' && closing !== undefined) {
    return [
      `a \`${closing}\` is missing before this`,
      'close what was opened, or indent what belongs to it',
    ]
  }
  if (code === 'UNEXPECTED_TOKEN' && /["']\s*$/.test(text.slice(0, start))) return BEHIND_QUOTE
  if (code === 'UNEXPECTED_TOKEN' && /^Unexpected flow-.* at node end/.test(message)) return BRACKET
  return WORDS[code] ?? [message]
}

/** What the parser says when it runs out of stack, which is its only bound. */
function isTooDeep(message: string): boolean {
  return message.startsWith('Maximum call stack')
}

/** The first line of what the parser says, for commands that read no configuration. */
export function yamlMessage({ message }: Pick<YAMLError, 'message'>): string {
  const line = message.replace(/:?\n[\s\S]*$/, '')
  return line.replace(/^Maximum call stack size exceeded/, 'it is nested too deeply')
}

const BRACKET = [
  'a bracket or a brace cannot stand behind this value',
  'inside of { } and [ ], a value with one of `[ ] { } ,` in it needs quotes',
] as const

const BEHIND_QUOTE = [
  'nothing can stand behind the closing quote',
  'quotes within need the other kind around them, or a block behind `|`',
] as const

const CODES: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: 'PC0206',
  TAG_RESOLVE_FAILED: 'PC0206',
  NON_STRING_KEY: 'PC0206',
  RESOURCE_EXHAUSTION: 'PC0206',
}

const INDENT = 'keys of one mapping, and items of one list, begin in the same column'

const WORDS: Partial<Record<ErrorCode, readonly [message: string, hint?: string]>> = {
  BAD_INDENT: ['the indentation does not fit what stands around it', INDENT],
  TAB_AS_INDENT: ['a tab cannot indent YAML', 'use spaces'],
  MISSING_CHAR: [
    'something is missing here: a colon, a comma, a quote or a bracket',
    'a value with `: `, ` #` or a leading special character in it needs quotes',
  ],
  UNEXPECTED_TOKEN: ['this does not belong here', INDENT],
  BLOCK_AS_IMPLICIT_KEY: ['a mapping cannot stand on this line', 'begin it on a line of its own'],
  MULTILINE_IMPLICIT_KEY: ['a key must stand on one line', 'is a colon missing behind it?'],
  BLOCK_IN_FLOW: ['inside of { } and [ ] only { } and [ ] can be used'],
  BAD_SCALAR_START: ['a value cannot begin with this character', 'put the value in quotes'],
  BAD_DQ_ESCAPE: [
    'this is no escape of a double-quoted text',
    'write \\\\ for a backslash, or use single quotes, which take it as it is',
  ],
  BAD_ALIAS: ['this alias has no anchor', 'define it before: &name'],
  KEY_OVER_1024_CHARS: ['a key is longer than YAML allows', 'is a quote missing before?'],
  DUPLICATE_KEY: ['a key is given twice'],
  MULTIPLE_DOCS: ['a file holds one document', 'remove what follows `---`'],
}
