import { CATALOGUE, describeCode } from '../diagnostics/catalogue.ts'
import { nearestName } from '../diagnostics/nearest.ts'
import { type Terminal, UsageError } from './define.ts'
import { painter } from './paint.ts'
import { wrapLine } from './wrap.ts'

const MAX_WIDTH = 92

/** Whether a word is a diagnostic code rather than a file name. */
export function isCode(word: string): boolean {
  return /^(PC|AZ)\d{3,4}$/i.test(word)
}

/** Renders the page of docs/errors for a code for a terminal. */
export function codePage(word: string, { colour, width = MAX_WIDTH }: Terminal): string {
  const { code, severity, title, explanation, example } = recordOf(word)
  const paint = painter(colour)
  const columns = Math.min(width, MAX_WIDTH)
  const text = explanation
    .split('\n')
    .flatMap((line) => (/^(\s|```|\|)/.test(line) ? [line] : wrapLine(line, columns)))
  const where = example.stage === undefined ? '' : ` (in a ${example.stage} rule)`
  return [
    ...wrapLine(`${code}: ${title}`, columns).map((line) => paint('title', line)),
    paint(severity === 'error' ? 'bad' : 'warn', severity),
    '',
    ...text.map((line) => paint('plain', line)),
    '',
    `Wrong${where}:`,
    '',
    indented(example.wrong, (line) => paint('plain', line)),
    '',
    'Right:',
    '',
    indented(example.right, (line) => paint('plain', line)),
    '',
  ].join('\n')
}

/** The same as JSON. */
export function codeJson(word: string): string {
  const { code, severity, title, explanation, example } = recordOf(word)
  return `${JSON.stringify({ code, severity, title, explanation, example }, undefined, 2)}\n`
}

function recordOf(word: string) {
  const record = describeCode(word.toUpperCase())
  if (record !== undefined) return record
  const codes = CATALOGUE.flatMap((group) => group.codes.map(({ code }) => code))
  const meant = nearestName(word.toUpperCase(), codes)
  throw new UsageError(`unknown code ${word}${meant ? `: did you mean ${meant}?` : ''}`)
}

function indented(text: string, shown: (line: string) => string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${shown(line)}`))
    .join('\n')
}
