import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isSeq, parseAllDocuments, visit } from 'yaml'
import { sentenceOf } from '../diagnostics/system-error.ts'
import { yamlMessage } from '../sources/file/yaml-errors.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

/** Nothing is folded: expressions stay on the line that messages point to. */
const STYLE = { lineWidth: 0, indentSeq: true, flowCollectionPadding: true } as const

export const formatFile = defineCommand({
  name: 'fmt',
  summary: 'format configuration files',
  help: `portcullis fmt FILE... [--check]

Formats each FILE (YAML or JSON; - reads standard input and writes to standard output) with
two spaces per level and consistent quoting and spacing. Comments, key order and values are
preserved. Files that are already formatted are not touched.

  --check   do not write; list the files that are not formatted

Exit code: 0; 1 if a file is not valid YAML or, with --check, if a file is not formatted;
2 for a usage error.`,
  run: (args, terminal) => {
    const { values, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        check: { type: 'boolean' },
        file: { type: 'string', short: 'f', multiple: true },
      },
    })
    const files = [...(values.file ?? []), ...positionals]
    if (files.length === 0) throw new UsageError('specify at least one file')
    return Math.max(...files.map((file) => formatOne(file, values.check === true, terminal)))
  },
})

function formatOne(file: string, isCheck: boolean, { out, err, readInput }: Terminal): number {
  try {
    const text = file === '-' ? readInput() : readFileSync(file, 'utf8')
    const laid = layOut(text, /\.json$/i.test(file))
    if (isCheck) {
      if (laid !== text) out(`${file}\n`)
      return laid === text ? 0 : 1
    }
    if (file === '-') out(laid)
    else if (laid !== text) writeFileSync(file, laid)
    return 0
  } catch (error) {
    err(`portcullis fmt: ${file}: ${sentenceOf(error)}\n`)
    return 1
  }
}

/** The same values with the usual spaces; throws where the text has no meaning. */
function layOut(text: string, isJson: boolean): string {
  if (isJson) return `${JSON.stringify(JSON.parse(text), undefined, 2)}\n`
  const documents = read(text)
  const laid = withoutPadding(documents.map((one) => one.toString(STYLE)).join(''))
  const values = documents.map((one) => one.toJS({ mapAsMap: true }))
  // The layout must never change what is said, whatever the writer of YAML does.
  const isSame = isDeepStrictEqual(
    read(laid).map((one) => one.toJS({ mapAsMap: true })),
    values,
  )
  if (!isSame) throw new Error('not formatted: formatting would change its meaning')
  return laid
}

/** `[a, b]`, as most people write lists, beside `{ a: b }`. */
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
    if (first !== undefined) throw new Error(yamlMessage(first))
  }
  return all
}
