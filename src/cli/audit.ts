import { statSync } from 'node:fs'
import { unreadable } from '../diagnostics/system-error.ts'
import {
  type ChainReport,
  type ChainState,
  verifyChain,
} from '../telemetry/decision-chain-check.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { type Paint, painter } from './paint.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

export const audit = defineCommand({
  name: 'audit',
  summary: 'check decision files for changed, missing and truncated records',
  mayTakeLong: true,
  help: `portcullis audit verify FILE... [--head HEAD] [--format text|json]
portcullis audit head FILE... [--format text|json]

Each line of a decision file carries its own digest and the digest of the line before it.
verify detects lines that were changed, removed, added or moved, and files that were
truncated. Pass all files of a chain, in any order. If the log was not closed, it is known
to be intact only up to its last line: later lines may be missing. The digests are not
keyed, so anyone who can write to the folder can recompute them. To protect against both,
store the head, which \`audit head\` prints, where no one can change it, and pass it to
verify.

  --head HEAD   the chain must contain this line, for example 41:5e88…
  --format json print the report as one object; short form: --json

Exit code: 0 if the chain is intact and the log was closed, 3 if the chain is intact up to
its last line and the log was not closed (its gateway is running, or was killed), 1 if the
chain is broken or a file cannot be read, 2 for a usage error. head exits only with 0, 1 or 2.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    const [what, ...files] = positionals
    if (what !== 'verify' && what !== 'head') throw new UsageError('specify verify or head')
    if (files.length === 0) throw new UsageError('specify at least one decision file')
    const report = await read(files, values.head)
    if (typeof report === 'string') {
      terminal.err(`portcullis audit: ${report}\n`)
      return 1
    }
    const isJson = formatOf(values, ['text', 'json']) === 'json'
    if (what === 'head') return reportHead(report, isJson, terminal)
    if (isJson) terminal.out(`${JSON.stringify(report, undefined, 2)}\n`)
    else terminal.out(renderReport(report, terminal))
    return EXIT_CODES[report.state]
  },
})

const EXIT_CODES: Readonly<Record<ChainState, number>> = { whole: 0, open: 3, broken: 1 }

async function read(
  files: readonly string[],
  head: string | undefined,
): Promise<ChainReport | string> {
  if (head !== undefined && !/^\d+:[0-9a-f]{64}$/.test(head)) {
    throw new UsageError('a head consists of a number, a colon and 64 hexadecimal digits')
  }
  try {
    const folder = files.find((file) => statSync(file, { throwIfNoEntry: false })?.isDirectory())
    if (folder !== undefined) return `cannot read ${folder}: it is a directory`
    return await verifyChain(files, head)
  } catch (error) {
    return unreadable(error)
  }
}

/** Rejects a broken chain, whose head is meaningless. */
function reportHead({ head, state }: ChainReport, isJson: boolean, { out, err }: Terminal): number {
  if (head === undefined || state === 'broken') {
    err('portcullis audit: the chain is broken; run `portcullis audit verify` to see where\n')
    return 1
  }
  out(isJson ? `${JSON.stringify({ head }, undefined, 2)}\n` : `${head}\n`)
  return 0
}

function renderReport(report: ChainReport, { colour }: Terminal): string {
  const { faults, notes, lines, decisions, dropped } = report
  const paint = painter(colour)
  const found = faults.map(({ file, line, kind, message }) => {
    const place = file === '' ? '' : line === 0 ? `${file}: ` : `${file}:${line}: `
    return `${paint('bad', kind)} ${place}${paint('title', message)}`
  })
  const said = notes.map((note) => `${paint('warn', 'note')} ${paint('faint', note)}`)
  const lost = dropped === 0 ? '' : `, ${dropped} more were dropped because they arrived too fast`
  const sum = `${lines} lines, ${decisions} decisions${lost}`
  const end = report.head === undefined || report.state === 'broken' ? [] : [`head ${report.head}`]
  return `${[...found, ...said, `${verdictOf(report, paint)}: ${sum}`, ...end].join('\n')}\n`
}

function verdictOf({ state, intactUpTo }: ChainReport, paint: Paint): string {
  if (state === 'whole') return paint('good', 'the chain is intact')
  if (state === 'broken') return paint('bad', 'the chain is broken')
  return paint('warn', `intact up to ${intactUpTo}; the log was not closed`)
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { head: { type: 'string' }, ...FORMAT },
  })
}
