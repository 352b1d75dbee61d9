import { inFolder } from './proxy/bench-folder.ts'
import { benchCollections } from './proxy/collections.ts'
import { openField, SOURCE } from './proxy/contenders.ts'
import { type Found, findProgram } from './proxy/find.ts'
import { benchLatency } from './proxy/latency.ts'
import { benchLife, buildBundle } from './proxy/life.ts'
import { isPinned } from './proxy/processes.ts'
import { benchTraffic } from './proxy/traffic.ts'
import type { Report } from './report.ts'

/** Rounds of the main load; 25 for figures to quote. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const FEW = 3
/** Rounds of latency: a single interruption of the machine makes one percent of a slice slow. */
const LATENCY = 9

/** The whole gateway against nginx, HAProxy and Envoy, in one interleaved run. */
export function proxy(): Promise<Report> {
  return inFolder(async (folder) => {
    const bundle = buildBundle()
    const field = await openField(folder, { own: new Map([['portcullis', bundle ?? SOURCE]]) })
    const wrk = findProgram('wrk', '-v')
    const h2load = findProgram('h2load', '--version')
    const missing = [
      ...field.missing,
      ...[wrk, h2load].filter((found) => typeof found === 'string'),
    ]
    const tools = typeof wrk === 'string' ? undefined : { wrk: wrk.program, h2load: pathOf(h2load) }
    const parts = [
      ...(tools ? [await benchTraffic(field, tools, ROUNDS)] : []),
      ...(tools ? [await benchCollections(field, tools.wrk, bundle ?? SOURCE)] : []),
      await benchLatency(field, LATENCY),
      await benchLife(field, bundle, FEW),
    ]
    return {
      intro: [
        'Reverse proxies with keep-alive to one backend (nginx), a rule on one header, no access',
        `log, one worker each, our own ${bundle === undefined ? 'from its source' : 'as it is released'};`,
        'the proxy under test on one core, wrk and the backend on the other. CPU time is utime +',
        `stime of all its processes. ${ROUNDS} rounds of 1 s in turn (fewer of the other loads;`,
        'BENCH_ROUNDS=25 for figures to quote), medians, after some seconds of each load in which our',
        'own code is compiled. HTTP/2 and gRPC are over TLS, 8 connections of 8 streams. By default',
        'nginx has buffers of 4 KiB. Latency is of an open',
        'loop, from the moment that a request was due. A reload counts from the rename of the file,',
        'the 20 ms included in which further changes are waited for. Its longest turn is the CPU time',
        'for which the event loop is held, which other processes of the machine add nothing to.',
        ...(isPinned ? [] : ['**Nothing was pinned to a core here: ratios mean little.**']),
        ...missing.map((what) => `Left out: ${what}.`),
      ],
      tables: parts.flatMap(({ tables }) => tables),
      targets: parts.flatMap(({ targets }) => targets),
    }
  })
}

function pathOf(found: Found | string): string | undefined {
  return typeof found === 'string' ? undefined : found.program
}
