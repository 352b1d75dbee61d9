import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { authorization } from './authorization.ts'
import { cel } from './cel.ts'
import { change } from './change.ts'
import { controlplane } from './controlplane.ts'
import { decisions } from './decisions.ts'
import { delivery } from './delivery.ts'
import { http1Body } from './http1-body.ts'
import { http1Head } from './http1-head.ts'
import { http2 } from './http2.ts'
import { jwt } from './jwt.ts'
import { landing } from './landing.ts'
import { llm } from './llm.ts'
import { match } from './match.ts'
import { mcp } from './mcp.ts'
import { protobuf } from './protobuf.ts'
import { proxy } from './proxy.ts'
import { type Report, renderReport } from './report.ts'
import { stalls } from './stalls.ts'
import { storage } from './storage.ts'
import { telemetry } from './telemetry.ts'
import { ui } from './ui.ts'
import { upstream } from './upstream.ts'

/** Each bench writes one section of RESULTS.md. */
const BENCHES: ReadonlyMap<string, () => Promise<Report>> = new Map([
  ['cel', cel],
  ['http1-head', http1Head],
  ['http1-body', http1Body],
  ['match', match],
  ['change', change],
  ['decisions', decisions],
  ['delivery', delivery],
  ['controlplane', controlplane],
  ['stalls', stalls],
  ['jwt', jwt],
  ['storage', storage],
  ['telemetry', telemetry],
  ['protobuf', protobuf],
  ['mcp', mcp],
  ['upstream', upstream],
  ['proxy', proxy],
  ['http2', http2],
  ['authorization', authorization],
  ['llm', llm],
  ['ui', ui],
  ['landing', landing],
])

/** It records a run of .ci/run and measures nothing by itself. */
const BY_NAME: ReadonlySet<string> = new Set(['landing'])

const RESULTS = new URL('RESULTS.md', import.meta.url)

// On few cores the compiler thread starves, and code stays cold for the whole bench.
setFlagsFromString('--no-concurrent-recompilation')

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !BENCHES.has(name))
if (unknown.length > 0) {
  console.error(`no bench ${unknown.join(', ')}; there is: ${[...BENCHES.keys()].join(', ')}`)
  process.exit(1)
}
for (const [name, bench] of BENCHES) {
  if (asked.length > 0 ? !asked.includes(name) : BY_NAME.has(name)) continue
  const section = `## ${name}\n\n${circumstances()}\n\n${renderReport(await bench())}\n`
  console.log(section)
  writeFileSync(RESULTS, replaceSection(name, section))
}

function circumstances(): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}`
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const date = new Date().toISOString().slice(0, 10)
  return `${date}, commit ${commit()}, ${machine}, ${memory}, Node ${process.version}.`
}

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
    const changed = git('status', '--porcelain') === '' ? '' : ' with changes'
    return `${git('rev-parse', '--short', 'HEAD')}${changed}`
  } catch {
    return 'unknown'
  }
}

/** Replaces one section and keeps the others. */
function replaceSection(name: string, section: string): string {
  const title =
    '# Benchmark results\n\nWritten by `npm run bench`; each section by its own bench.\n'
  const text = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : title
  const parts = text.split(/^(?=## )/m)
  const at = parts.findIndex((part) => part.startsWith(`## ${name}\n`))
  if (at === -1) parts.push(section)
  else parts[at] = section
  return parts
    .map((part) => part.trimEnd())
    .join('\n\n')
    .concat('\n')
}
