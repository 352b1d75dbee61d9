import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { addCounts, type Counts, NO_TESTS, renderCounts } from './test/counts.ts'
import { childrenCpu } from './test/process-tree.ts'

/**
 * Prints one line at the end if all tests pass. Also prints failures in full as soon as they
 * happen, skipped tests with their reason, partial results of tests, and tests that wait. `.ci/run`
 * reads the counts of the last line. TEST_TIMES names a file for the milliseconds of each test file.
 */
async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  const starts: Usage[] = []
  let counts = NO_TESTS
  let fileStart = usage()
  for await (const event of events) {
    if (event.type === 'test:start') {
      path[event.data.nesting] = event.data.name
      starts[event.data.nesting] = usage()
    }
    if (event.type === 'test:diagnostic' && event.data.message.startsWith(RESULT))
      yield `${event.data.message}\n`
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { data } = event
    const end = usage()
    if (data.nesting === 0) {
      recordTime(data.file, end.wall - fileStart.wall)
      fileStart = end
    }
    if (isGroup(event)) continue
    const name = [...path.slice(0, data.nesting), data.name].join(' › ')
    const reason = data.skip ?? data.todo
    if (reason !== undefined) {
      counts = addCounts(counts, { ...NO_TESTS, skipped: 1 })
      yield `skipped: ${name}${typeof reason === 'string' && reason !== '' ? ` (${reason})` : ''}\n`
    } else if (event.type === 'test:pass') counts = addCounts(counts, { ...NO_TESTS, passed: 1 })
    else {
      counts = addCounts(counts, { ...NO_TESTS, failed: 1 })
      yield renderFailure(name, event.data)
    }
    const idle = idleBetween(starts[data.nesting] ?? end, end)
    if (idle > MAX_IDLE) yield `idle: ${(idle / 1000).toFixed(1)} s in ${name} (${placeOf(data)})\n`
  }
  yield renderTotal(counts)
}

/** Prefix of partial results of a test, which CI shows: `result: PAGE: done`. */
const RESULT = 'result: '
/** A test that waits for longer, in milliseconds, is named. */
const MAX_IDLE = 1000

/** As it is before a test sets the clock forward. */
const now = performance.now.bind(performance)

/** Milliseconds since the start of the process. */
interface Usage {
  readonly wall: number
  readonly idle: number
  readonly children: number
}

function usage(): Usage {
  const { idle } = performance.eventLoopUtilization()
  return { wall: now(), idle, children: childrenCpu() }
}

/** The time in which neither this process nor its children had anything to do. */
function idleBetween(start: Usage, end: Usage): number {
  return end.idle - start.idle - (end.children - start.children)
}

function recordTime(file: string | undefined, milliseconds: number): void {
  const { TEST_TIMES: times } = process.env
  if (times === undefined || file === undefined) return
  appendFileSync(times, `${JSON.stringify([relative(process.cwd(), file), milliseconds])}\n`)
}

/** A describe block, or a test that failed only because a nested test failed, counted there. */
function isGroup({ type, data }: TestEvent & { type: 'test:pass' | 'test:fail' }): boolean {
  if (type === 'test:fail' && failureType(data) === 'subtestsFailed') return true
  return data.details.type === 'suite' && type === 'test:pass'
}

function failureType(data: EventData.TestFail): unknown {
  return (data.details.error as { failureType?: unknown }).failureType
}

function renderFailure(name: string, data: EventData.TestFail): string {
  const { details } = data
  const thrown = details.error.cause ?? details.error
  const text = inspect(thrown, { colors: process.stdout.isTTY, depth: 8 })
  return `\nfailed: ${name}\n  at ${placeOf(data)}\n${text.replaceAll(/^/gm, '  ')}\n\n`
}

function placeOf({ file, line, column }: EventData.TestPass | EventData.TestFail): string {
  return file === undefined ? '' : `${relative(process.cwd(), file)}:${line}:${column}`
}

function renderTotal(counts: Counts): string {
  const { user, system } = process.cpuUsage()
  // Since the start of the process, so that loading the files counts as part of the run.
  const time = `${(now() / 1000).toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`
  return `${renderCounts(counts)} (${time})\n`
}

// biome-ignore lint/style/noDefaultExport: node:test loads the default export of a reporter
export default report
