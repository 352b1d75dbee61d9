import { benchFloods } from './http2/floods.ts'
import { benchStreams } from './http2/streams.ts'
import { inFolder } from './proxy/bench-folder.ts'
import type { Report } from './report.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)

/** HTTP/2 bodies, many streams, cost of attacks, and memory per stream and connection. */
export function http2(): Promise<Report> {
  return inFolder(async (folder) => {
    const streams = await benchStreams(folder, ROUNDS)
    const floods = await benchFloods(folder)
    return {
      intro: [
        'One worker; over TLS 1.3, backends in the clear. Small requests and unary calls on 8',
        'connections of 8 streams, then bodies of 1 MiB on 8 connections of one stream and 1,000',
        `streams on one connection that ask for two bytes. Each group takes turns in ${ROUNDS} rounds of`,
        '1 s; medians, and ratios to our own HTTP/1.1 within a round. An attack is all that one',
        'client sends on one connection until the gateway closes it, CPU time of all threads of the',
        'gateway. Memory is what RSS grows by, of 400 connections and of 10,000 requests that wait for',
        'their body.',
        ...streams.missing.map((what) => `Left out: ${what}.`),
      ],
      tables: [...streams.tables, ...floods.tables],
      targets: [...streams.targets, ...floods.targets],
    }
  })
}
