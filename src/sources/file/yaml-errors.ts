import type { ErrorCode, YAMLError } from 'yaml'
import type { Problem } from './problem.ts'

/**
 * Describes parser errors in terms of what to fix. After the first error, the parser often reports
 * every remaining token, and often several errors for one mistake.
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
  // Skips the indentation: the error is in the content after it.
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
  if (isTooDeep(message)) return ['too many levels of nesting']
  const isAtEnd = text.slice(start).trim() === ''
  if (isAtEnd && (code === 'BAD_INDENT' || code === 'MISSING_CHAR')) {
    return ['unexpected end of file: a bracket, brace or quote is not closed']
  }
  const [, closing] = /^Flow .* end with a ([\]}])/.exec(message) ?? []
  if (code === 'BAD_INDENT' && closing !== undefined) {
    return [
      `missing \`${closing}\` before this`,
      'close it, or indent the lines that belong inside',
    ]
  }
  if (code === 'UNEXPECTED_TOKEN' && /["']\s*$/.test(text.slice(0, start))) return BEHIND_QUOTE
  if (code === 'UNEXPECTED_TOKEN' && /^Unexpected flow-.* at node end/.test(message)) return BRACKET
  // The excerpt is added when the diagnostic is reported.
  return WORDS[code] ?? [message.replace(/:?\n[\s\S]*$/, '')]
}

/** Whether the parser ran out of stack, which is its only depth limit. */
function isTooDeep(message: string): boolean {
  return message.startsWith('Maximum call stack')
}

/** The first error, for commands that read no configuration. */
export function firstYamlProblem(error: YAMLError, text: string) {
  const { message, start } = describeYamlError(error, text)
  const before = text.slice(0, start).split('\n')
  return { message, line: before.length, column: (before.at(-1) ?? '').length + 1 }
}

const BRACKET = [
  'a bracket or brace is not allowed after this value',
  'inside { } and [ ], quote values that contain any of `[ ] { } ,`',
] as const

const BEHIND_QUOTE = [
  'unexpected characters after the closing quote',
  'to put quotes inside a string, use the other kind of quotes around it, or a `|` block',
] as const

const CODES: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: 'PC0206',
  TAG_RESOLVE_FAILED: 'PC0206',
  NON_STRING_KEY: 'PC0206',
  RESOURCE_EXHAUSTION: 'PC0206',
}

const INDENT = 'keys of a mapping and items of a list must start in the same column'

const WORDS: Partial<Record<ErrorCode, readonly [message: string, hint?: string]>> = {
  BAD_INDENT: ['inconsistent indentation', INDENT],
  TAB_AS_INDENT: ['tabs are not allowed for indentation', 'use spaces'],
  MISSING_CHAR: [
    'missing character: a colon, comma, quote or bracket',
    'quote values that contain `: ` or ` #`, or that start with a special character',
  ],
  UNEXPECTED_TOKEN: ['unexpected token', INDENT],
  BLOCK_AS_IMPLICIT_KEY: ['a mapping is not allowed on this line', 'start it on a new line'],
  MULTILINE_IMPLICIT_KEY: ['a key must not span multiple lines', 'add a colon after the key'],
  BLOCK_IN_FLOW: ['only { } and [ ] are allowed inside { } and [ ]'],
  BAD_SCALAR_START: ['a value cannot start with this character', 'quote the value'],
  BAD_DQ_ESCAPE: [
    'invalid escape sequence in a double-quoted string',
    'write \\\\ for a backslash, or use single quotes',
  ],
  BAD_ALIAS: ['this alias refers to an unknown anchor', 'define the anchor first: &name'],
  KEY_OVER_1024_CHARS: ['this key is longer than YAML allows', 'check for a missing quote'],
  DUPLICATE_KEY: ['duplicate key'],
  MULTIPLE_DOCS: ['a file must contain a single document', 'remove `---` and everything after it'],
}
