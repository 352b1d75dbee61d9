import { readDecisions } from '../analysis/decisions/read.ts'
import {
  type Changed,
  type Replay,
  replay as replayDecisions,
} from '../analysis/decisions/replay.ts'
import { visible } from '../diagnostics/text-cells.ts'
import { defineCommand, UsageError } from './define.ts'
import { exampleLines, loadModel, supposedOf } from './diff.ts'
import { readArgs } from './read-args.ts'
import { readText } from './read-text.ts'
import { openVerdicts } from './verdicts.ts'

export const replay = defineCommand({
  name: 'replay',
  summary: 'tell which recorded requests a changed configuration would decide otherwise',
  help: `portcullis replay --decisions FILE --old FILE --new FILE [--json]
                  [--fail-on-newly-admitted] [--fail-on-change]

Takes recorded decisions (JSON lines, as config.decisions.file writes them; - for the
standard input) and decides their requests by the new configuration: those that were
denied and would be admitted first, grouped by route and reason. What a record does not
show, since it was redacted or no rule read it then, is taken as unknown: where the
verdict depends on it the request is counted as not judged, with the names.

  --decisions FILE           the records
  --old FILE                 the configuration that they were made with
  --new FILE                 the one to try
  --json                     for programs: every changed request
  --fail-on-newly-admitted   exit code 1 where a request is newly admitted
  --fail-on-change           the same for any change

Exit code: 0, or 1 as asked for and where a file has errors, 2 where the command is not
understood.`,
  run: (args, terminal) => {
    const values = parse(args)
    const { decisions, old: before, new: after } = values
    if (decisions === undefined || before === undefined || after === undefined) {
      throw new UsageError('name --decisions, --old and --new')
    }
    const { decisions: records, others } = readDecisions(
      decisions === '-' ? terminal.readInput() : readText(decisions),
    )
    const [old, now] = [loadModel(before, terminal), loadModel(after, terminal)]
    if (old === undefined || now === undefined) return 1
    const [was, is] = [openVerdicts(old), openVerdicts(now)]
    const found = replayDecisions(records, {
      old: {
        model: old,
        decide: (request) => was.decide(supposedOf(request), request.isConnection),
      },
      now: {
        model: now,
        decide: (request) => is.decide(supposedOf(request), request.isConnection),
      },
    })
    was.close()
    is.close()
    if (values.json === true) {
      terminal.out(`${JSON.stringify({ ...found, notRead: others.length }, undefined, 2)}\n`)
    } else terminal.out(render(found, others.length))
    const isWanted = ({ kind }: Changed) =>
      values['fail-on-change'] === true ||
      (values['fail-on-newly-admitted'] === true && kind === 'admitted')
    return found.changed.some(isWanted) ? 1 : 0
  },
})

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
    lines.push(`  such as ${id} of ${time}`)
    lines.push(...exampleLines(request).map((line) => `    ${visible(line)}`), '')
  }
  for (const { why, requests } of found.unjudged)
    lines.push(visible(`not judged: ${requests}: ${why}`))
  if (notRead > 0) lines.push(`not read: ${notRead} lines that are no records of decisions`)
  if (found.disagreeing > 0) {
    lines.push(`the old configuration decides ${found.disagreeing} of them otherwise than recorded`)
  }
  const count = (kind: string) => found.changed.filter((one) => one.kind === kind).length
  const unjudged = found.unjudged.reduce((sum, { requests }) => sum + requests, 0)
  lines.push(
    `${found.requests} requests: ${count('admitted')} newly admitted, ${count('refused')} newly refused, ` +
      `${found.unchanged} unchanged, ${unjudged} not judged`,
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
      json: { type: 'boolean' },
      'fail-on-newly-admitted': { type: 'boolean' },
      'fail-on-change': { type: 'boolean' },
    },
  }).values
}
