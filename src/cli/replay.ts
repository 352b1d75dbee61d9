import { readDecisions } from '../analysis/decisions/read.ts'
import {
  type Changed,
  type Replay,
  replay as replayDecisions,
} from '../analysis/decisions/replay.ts'
import { visible } from '../diagnostics/text-cells.ts'
import { Reach } from '../reach/reach.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { exampleLines, loadModel } from './diff.ts'
import { ADMIN, defaultFile, FORMAT, formatOf, readArgs } from './read-args.ts'
import { readText } from './read-text.ts'
import { openRouter } from './route-recorded.ts'

export const replay = defineCommand({
  name: 'replay',
  summary: 'show which recorded requests a changed configuration would decide differently',
  mayTakeLong: true,
  help: `portcullis replay --decisions FILE --old FILE --new FILE
                  [--format text|json] [--fail-on-newly-admitted] [--fail-on-change]
portcullis replay --admin URL [--new FILE] [--format text|json]
                  [--fail-on-newly-admitted] [--fail-on-change]

Reads recorded decisions (JSON lines, as written to config.decisions.file; - for standard
input) and evaluates their requests with the new configuration. Lists requests that were
denied and would be admitted first, grouped by route and reason. Values that a record does
not contain, because they were redacted or no rule read them, are unknown: if the verdict
depends on one, the request counts as not known and the value is named. Only authentication
and authorization are evaluated, not other policies that may respond to a request.

  --decisions FILE           the records
  --old FILE                 the configuration that they were recorded with
  --new FILE                 the configuration to evaluate (with --admin, by default
                             portcullis.yaml in the current folder)
  --admin URL                use the records and the configuration of a running gateway
                             instead of --decisions and --old. The gateway computes the
                             result, without \`config\` of the new file; sends the token
                             in PORTCULLIS_ADMIN_TOKEN
  --format json              JSON output with every changed request; short
                             form: --json
  --fail-on-newly-admitted   exit with 1 if a request is newly admitted
  --fail-on-change           exit with 1 if any decision changes, or if the old
                             configuration does not decide as recorded

Exit code: 0; 1 if a file has errors, the decision file contains no records or one of the
--fail-on options applies; 2 for a usage error.`,
  run: async (args, terminal) => {
    const values = parse(args)
    const format = formatOf(values, ['text', 'json'])
    const found =
      values.admin === undefined
        ? replayFiles(values, terminal)
        : await replayServed(values.admin, values, terminal)
    if (found === undefined) return 1
    if (format === 'json') terminal.out(`${JSON.stringify(found, undefined, 2)}\n`)
    else terminal.out(render(found, found.notRead))
    const isWanted = ({ kind }: Changed) =>
      values['fail-on-change'] === true ||
      (values['fail-on-newly-admitted'] === true && kind === 'admitted')
    // If the old file does not reproduce the decisions, the result says nothing about the new one.
    const isDoubted = values['fail-on-change'] === true && found.disagreeing > 0
    return isDoubted || found.changed.some(isWanted) ? 1 : 0
  },
})

/** `notRead`: the number of lines that are not records. */
type Replayed = Replay & { readonly notRead: number }

type Named = Readonly<Partial<Record<'decisions' | 'old' | 'new', string>>>

function replayFiles(
  { decisions, old: before, new: after }: Named,
  terminal: Terminal,
): Replayed | undefined {
  if (decisions === undefined || before === undefined || after === undefined) {
    throw new UsageError('specify --decisions, --old and --new')
  }
  const {
    decisions: records,
    others,
    isLog,
  } = readDecisions(decisions === '-' ? terminal.readInput() : readText(decisions))
  if (records.length === 0 && !isLog) {
    terminal.err(`portcullis replay: ${decisions} contains no decision records\n`)
    return undefined
  }
  const [old, now] = [loadModel(before, terminal), loadModel(after, terminal)]
  if (old === undefined || now === undefined) return undefined
  // Records from ports that are not in the old file are matched by the name of the listener.
  const { ports } = new Reach(old)
  const isPortOf = (port: number) => ports.has(port)
  const [was, is] = [openRouter(old, isPortOf), openRouter(now, isPortOf)]
  const found = replayDecisions(records, {
    old: { model: old, route: was.route },
    now: { model: now, route: is.route },
  })
  was.close()
  is.close()
  return { ...found, notRead: others.length }
}

async function replayServed(
  admin: string,
  { decisions, old, new: after = defaultFile() }: Named,
  terminal: Terminal,
): Promise<Replayed | undefined> {
  if (decisions !== undefined || old !== undefined) {
    throw new UsageError(
      'with --admin, specify only --new: the gateway provides the records and the old configuration',
    )
  }
  const { analyseTowards } = await import('./admin-changes.ts')
  const analysed = await analyseTowards<Replayed>(admin, after, 'replay', terminal)
  if (analysed === undefined) return undefined
  const { found, hasOtherSettings } = analysed
  if (!hasOtherSettings) return found
  const why = '`config` in the file differs from that of the gateway and was not evaluated'
  return { ...found, unknown: [...found.unknown, { why, requests: found.requests }] }
}

const TITLES = { admitted: 'denied then, admitted now', refused: 'admitted then, denied now' }

function render(found: Replay, notRead: number): string {
  const lines: string[] = []
  const groups = Map.groupBy(found.changed, ({ kind, route, reason }) =>
    JSON.stringify([kind, route, reason]),
  )
  for (const group of groups.values()) {
    const { kind, route, reason, id, time, request } = group[0] as Changed
    const where = route === '' ? 'no route' : `route ${route}`
    lines.push(visible(`${TITLES[kind]}: ${group.length} at ${where}: ${reason}`))
    lines.push(`  for example ${id} at ${time}`)
    lines.push(...exampleLines(request).map((line) => `    ${visible(line)}`), '')
  }
  for (const { why, requests } of found.unknown)
    lines.push(visible(`not known: ${requests}: ${why}`))
  if (notRead > 0) lines.push(`skipped: ${notRead} lines that are not decision records`)
  if (found.disagreeing > 0) {
    lines.push(
      `the old configuration decides ${found.disagreeing} of them differently than recorded`,
    )
  }
  const count = (kind: string) => found.changed.filter((one) => one.kind === kind).length
  const unknown = found.unknown.reduce((sum, { requests }) => sum + requests, 0)
  lines.push(
    `${found.requests} requests: ${count('admitted')} newly admitted, ${count('refused')} newly denied, ` +
      `${found.unchanged} unchanged, ${unknown} not known`,
  )
  return `${lines.join('\n')}\n`
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    options: {
      decisions: { type: 'string' },
      old: { type: 'string' },
      new: { type: 'string' },
      ...ADMIN,
      ...FORMAT,
      'fail-on-newly-admitted': { type: 'boolean' },
      'fail-on-change': { type: 'boolean' },
    },
  }).values
}
