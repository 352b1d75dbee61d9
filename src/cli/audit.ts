import { type ChainReport, verifyChain } from '../telemetry/decision-chain.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { painter } from './paint.ts'
import { readArgs } from './read-args.ts'

export const audit = defineCommand({
  name: 'audit',
  summary: 'check files of decisions for changes, gaps and missing ends',
  help: `portcullis audit verify FILE... [--head HEAD] [--json]
portcullis audit head FILE...

Each line of a file of decisions carries the hash of the line before it. verify finds
lines that were changed, removed or moved, and files that were cut off; name all files
of a chain, in any order. What it cannot find by itself is that lines at the very end
are gone, or that everything was written anew: note the head, which \`audit head\`
prints, where whoever could do that cannot reach it, and give it to verify.

  --head HEAD   the chain must have this line, as 41:5e88…
  --json        the report as one object

Exit code: 0 where nothing is wrong, 1 where something is, 2 where the command is not
understood.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    const [what, ...files] = positionals
    if (what !== 'verify' && what !== 'head') throw new UsageError('say verify or head')
    if (files.length === 0) throw new UsageError('name the files of decisions')
    const report = await read(files, values.head)
    if (typeof report === 'string') {
      terminal.err(`portcullis audit: ${report}\n`)
      return 1
    }
    if (what === 'head') return tellHead(report, terminal)
    if (values.json === true) terminal.out(`${JSON.stringify(report, undefined, 2)}\n`)
    else terminal.out(renderReport(report, terminal))
    return report.faults.length === 0 ? 0 : 1
  },
})

async function read(
  files: readonly string[],
  head: string | undefined,
): Promise<ChainReport | string> {
  if (head !== undefined && !/^\d+:[0-9a-f]{64}$/.test(head)) {
    throw new UsageError('a head is a number, a colon and 64 hexadecimal digits')
  }
  try {
    return await verifyChain(files, head)
  } catch (error) {
    return (error as Error).message
  }
}

/** Of a chain that is whole alone: the head of another says nothing. */
function tellHead({ head, faults }: ChainReport, { out, err }: Terminal): number {
  if (head === undefined || faults.length > 0) {
    err('portcullis audit: the chain is not whole; `portcullis audit verify` says why\n')
    return 1
  }
  out(`${head}\n`)
  return 0
}

function renderReport(report: ChainReport, { colour }: Terminal): string {
  const { faults, notes, lines, decisions, dropped, head } = report
  const paint = painter(colour)
  const found = faults.map(({ file, line, kind, message }) => {
    const place = file === '' ? '' : line === 0 ? `${file}: ` : `${file}:${line}: `
    return `${paint('bad', kind)} ${place}${paint('title', message)}`
  })
  const said = notes.map((note) => `${paint('warn', 'note')} ${paint('faint', note)}`)
  const lost = dropped === 0 ? '' : `, ${dropped} more were left out when they came too fast`
  const sum = `${lines} lines, ${decisions} decisions${lost}`
  const verdict =
    faults.length === 0 ? paint('good', 'the chain is whole') : paint('bad', 'the chain is broken')
  const end = head === undefined ? [] : [`head ${head}`]
  return `${[...found, ...said, `${verdict}: ${sum}`, ...end].join('\n')}\n`
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { head: { type: 'string' }, json: { type: 'boolean' } },
  })
}
