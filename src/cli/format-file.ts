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
  summary: 'write files in the usual layout',
  help: `portcullis fmt FILE... [--check]

Lays out each FILE (YAML or JSON; - for the standard input, which goes to the standard
output): two spaces for each level, one way of quoting and of spacing. Comments, the order of
keys, and values stay as they are. Files that have the layout are not touched.

  --check   change nothing; list the files that do not have it

Exit code: 0; 1 if a file cannot be read as YAML, or with --check if one does not have the
layout; 2 for a usage error.`,
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
    if (files.length === 0) throw new UsageError('name a file')
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
  if (!isSame) throw new Error('its layout is left alone: it would read differently')
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
