import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isSeq, parseAllDocuments, visit } from 'yaml'
import { sentenceOf } from '../diagnostics/system-error.ts'
import { firstYamlProblem } from '../sources/file/yaml-errors.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { configurationsOf, FILES, FORMAT, formatOf, readArgs } from './read-args.ts'

/** Lines are not folded: expressions stay on the line that messages refer to. */
const STYLE = { lineWidth: 0, indentSeq: true, flowCollectionPadding: true } as const

export const formatFile = defineCommand({
  name: 'fmt',
  summary: 'format configuration files',
  help: `portcullis fmt [FILE...] [--check] [--format text|json]

Formats each FILE (YAML or JSON, by default portcullis.yaml in the current folder; - reads
standard input and writes to standard output) with two spaces per level and consistent
quoting and spacing. Comments, key order and values are preserved. Files that are already
formatted are not touched.

  --check         do not write; list the files that are not formatted
  --format json   the files that were changed, or that would be with --check, and those
                  that could not be formatted, as one object; short form: --json

Exit code: 0; 1 if a file is not valid YAML or, with --check, if a file is not formatted;
2 for a usage error.`,
  run: (args, terminal) => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        check: { type: 'boolean' },
        ...FILES,
        ...FORMAT,
      },
    })
    const files = configurationsOf({ values, positionals })
    const isCheck = values.check === true
    const isJson = formatOf(values, ['text', 'json']) === 'json'
    if (isJson && !isCheck && files.includes('-')) {
      throw new UsageError('--format json cannot be combined with standard input')
    }
    const formatted = files.map((file) => formatOne(file, isCheck, terminal))
    const changed = formatted.filter((one) => one.isChanged).map(({ file }) => file)
    const failed = formatted.flatMap(({ file, why }) => (why === undefined ? [] : [{ file, why }]))
    if (isJson) terminal.out(`${JSON.stringify({ changed, failed }, undefined, 2)}\n`)
    else {
      if (isCheck) terminal.out(changed.map((file) => `${file}\n`).join(''))
      for (const { why } of failed) terminal.err(`portcullis fmt: ${why}\n`)
    }
    return failed.length > 0 || (isCheck && changed.length > 0) ? 1 : 0
  },
})

interface Formatted {
  readonly file: string
  /** Or would be changed, with `--check`. */
  readonly isChanged: boolean
  /** The reason why it could not be formatted. */
  readonly why?: string
}

function formatOne(file: string, isCheck: boolean, { out, readInput }: Terminal): Formatted {
  try {
    const text = file === '-' ? readInput() : readFileSync(file, 'utf8')
    const laid = layOut(text, /\.json$/i.test(file))
    if (!isCheck && file === '-') out(laid)
    else if (!isCheck && laid !== text) writeFileSync(file, laid)
    return { file, isChanged: laid !== text }
  } catch (error) {
    const isPlaced = error instanceof PlacedError
    const why = isPlaced ? `${file}:${error.message}` : `${file}: ${sentenceOf(error)}`
    return { file, isChanged: false, why }
  }
}

/** An error whose message begins with line and column. */
class PlacedError extends Error {}

/** Returns the same values with standard spacing; throws if the text is invalid. */
function layOut(text: string, isJson: boolean): string {
  if (isJson) return `${JSON.stringify(readJson(text), undefined, 2)}\n`
  const documents = read(text)
  const laid = withoutPadding(documents.map((one) => one.toString(STYLE)).join(''))
  const values = documents.map((one) => one.toJS({ mapAsMap: true }))
  // Formatting must never change the values, whatever the YAML serializer does.
  const isSame = isDeepStrictEqual(
    read(laid).map((one) => one.toJS({ mapAsMap: true })),
    values,
  )
  if (!isSame) throw new Error('not formatted: formatting would change its meaning')
  return laid
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('this is not valid JSON')
  }
}

/** `[a, b]`, the common style for lists, next to `{ a: b }`. */
function withoutPadding(text: string): string {
  const spaces: number[] = []
  for (const document of read(text)) {
    visit(document, (_key, node) => {
      if (!isSeq(node) || node.flow !== true || !node.range) return
      const [from, to] = node.range
      if (text[from + 1] === ' ') spaces.push(from + 1)
      if (text[to - 2] === ' ' && to - 2 > from + 1) spaces.push(to - 2)
    })
  }
  const dropped = new Set(spaces)
  return Array.from({ length: text.length }, (_, at) => (dropped.has(at) ? '' : text[at])).join('')
}

function read(text: string): readonly Document[] {
  const documents = parseAllDocuments(text)
  const all = 'empty' in documents ? [] : documents
  for (const { errors } of all) {
    const [first] = errors
    if (first === undefined) continue
    const { message, line, column } = firstYamlProblem(first, text)
    throw new PlacedError(`${line}:${column}: ${message}`)
  }
  return all
}
