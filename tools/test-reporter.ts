import { relative } from 'node:path'
import type { EventData } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/**
 * Prints one line at the end if all tests pass. Also prints failures in full as soon as they
 * happen, skipped tests with their reason, and partial results of tests. `.ci/run` reads the
 * counts of the last line.
 */
async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for await (const event of events) {
    if (event.type === 'test:start') path[event.data.nesting] = event.data.name
    if (event.type === 'test:diagnostic' && event.data.message.startsWith(RESULT))
      yield `${event.data.message}\n`
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { data } = event
    if (isGroup(event)) continue
    const name = [...path.slice(0, data.nesting), data.name].join(' › ')
    const reason = data.skip ?? data.todo
    if (reason !== undefined) {
      counts.skipped++
      yield `skipped: ${name}${typeof reason === 'string' && reason !== '' ? ` (${reason})` : ''}\n`
    } else if (event.type === 'test:pass') counts.passed++
    else {
      counts.failed++
      yield renderFailure(name, event.data)
    }
  }
  // Since the start of the process, so that loading the files counts as part of the run.
  yield renderCounts(counts, performance.now())
}

/** Prefix of partial results of a test, which CI shows: `result: PAGE: done`. */
const RESULT = 'result: '

/** A describe block, or a test that failed only because a nested test failed, counted there. */
function isGroup({ type, data }: TestEvent & { type: 'test:pass' | 'test:fail' }): boolean {
  if (type === 'test:fail' && failureType(data) === 'subtestsFailed') return true
  return data.details.type === 'suite' && type === 'test:pass'
}

function failureType(data: EventData.TestFail): unknown {
  return (data.details.error as { failureType?: unknown }).failureType
}

function renderFailure(name: string, { details, file, line, column }: EventData.TestFail): string {
  const place = file === undefined ? '' : `${relative(process.cwd(), file)}:${line}:${column}`
  const thrown = details.error.cause ?? details.error
  const text = inspect(thrown, { colors: process.stdout.isTTY, depth: 8 })
  return `\nfailed: ${name}\n  at ${place}\n${text.replaceAll(/^/gm, '  ')}\n\n`
}

function renderCounts(
  { passed, failed, skipped }: { passed: number; failed: number; skipped: number },
  milliseconds: number,
): string {
  const { user, system } = process.cpuUsage()
  const time = `${(milliseconds / 1000).toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of CPU`
  const tail = skipped === 0 ? '' : `, ${skipped} skipped`
  return `${passed} passed, ${failed} failed${tail} (${time})\n`
}

// biome-ignore lint/style/noDefaultExport: node:test loads the default export of a reporter
export default report
