import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { streamForms } from './http2/streams.ts'
import { figure } from './measure.ts'
import { type Candidate, openField, SOURCE } from './proxy/contenders.ts'
import { findProgram } from './proxy/find.ts'
import type { Slice } from './proxy/load.ts'
import { residentOf, stopAll } from './proxy/processes.ts'
import { formsOf, hasNginx, sliceOf } from './proxy/traffic.ts'

/*
 * Compares gateways of several checkouts and nginx under one load, in turn within each round:
 *
 *   node bench/compare.ts --load=handshake --rounds=9 bin/portcullis.ts ../other/bin/portcullis.ts
 *
 * Ratios are computed within a round and shown with their range. Passing one program twice shows
 * how much of a difference is noise.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    load: { type: 'string', default: 'keep-alive, one' },
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '1' },
    peers: { type: 'string', default: 'nginx' },
    'warm-up': { type: 'string' },
  },
})
const programs = positionals.length === 0 ? [SOURCE] : positionals.map((each) => resolve(each))
const own = new Map(programs.map((program, at) => [`${at + 1} ${nameOf(program)}`, program]))
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
const folder = mkdtempSync(join(tmpdir(), 'portcullis-compare-'))
const remove = () => rmSync(folder, { recursive: true, force: true })
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(130))
process.once('exit', remove)

try {
  const wrk = findProgram('wrk', '-v')
  const h2load = findProgram('h2load', '--version')
  if (typeof wrk === 'string') throw new Error(wrk)
  const field = await openField(folder, { own, peers: values.peers.split(',') })
  const tools = {
    wrk: wrk.program,
    h2load: typeof h2load === 'string' ? undefined : h2load.program,
  }
  const known = [...formsOf(field, tools, rounds)]
  if (tools.h2load !== undefined && hasNginx(field))
    known.push(...streamForms(field, tools.wrk, tools.h2load, rounds))
  const forms = known.filter(({ name }) => name.includes(values.load))
  for (const form of forms) {
    const slices = new Map<Candidate, Slice[]>(field.proxies.map((proxy) => [proxy, []]))
    for (const proxy of field.proxies) {
      await sliceOf(form, proxy, proxy.isOwn ? Number(values['warm-up'] ?? form.warmUp ?? 4) : 1)
    }
    for (let round = 0; round < rounds; round++) {
      const shift = round % field.proxies.length
      for (const proxy of [...field.proxies.slice(shift), ...field.proxies.slice(0, shift)]) {
        slices.get(proxy)?.push(await sliceOf(form, proxy, seconds))
      }
    }
    console.log(`${form.name}, ${rounds} rounds of ${seconds} s`)
    for (const proxy of field.proxies) console.log(lineOf(proxy, slices, field.proxies))
  }
} finally {
  await stopAll()
}

/** The checkout folder and the file name of a program. */
function nameOf(program: string): string {
  return `${basename(join(program, '../..'))}/${basename(program)}`
}

function lineOf(
  proxy: Candidate,
  slices: ReadonlyMap<Candidate, readonly Slice[]>,
  proxies: readonly Candidate[],
): string {
  const costs = (of: Candidate) => (slices.get(of) ?? []).map(({ user, kernel }) => user + kernel)
  const mine = slices.get(proxy) ?? []
  const cells = [
    proxy.name.padEnd(36),
    `${figure(costs(proxy)).median.toFixed(1)} µs`,
    `(${figure(mine.map(({ user }) => user)).median.toFixed(1)} user)`,
    ...proxies
      .filter((other) => other !== proxy && (!other.isOwn || proxy.isOwn))
      .map((other) => ratiosOf(costs(proxy), costs(other), other.name)),
    `RSS ${residentOf(proxy.pid).toFixed(0)} MB`,
  ]
  return cells.join('  ')
}

function ratiosOf(mine: readonly number[], theirs: readonly number[], name: string): string {
  const ratios = mine.map((cost, round) => cost / (theirs[round] ?? Number.NaN))
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const median = figure(ratios).median
  return `${median.toFixed(2)} [${least.toFixed(2)}–${most.toFixed(2)}] × ${name}`
}
