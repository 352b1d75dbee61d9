import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  type CallForm,
  CLIENT,
  costAtFullLoad,
  costOfCalls,
  type ModelLoad,
  PLAIN,
  STREAM,
} from './llm/load.ts'
import { type ModelGateway, startLiteLlm, startNginx, startOwn, startPortkey } from './llm/peers.ts'
import { figure } from './measure.ts'
import { inFolder } from './proxy/bench-folder.ts'
import { reachable } from './proxy/contenders.ts'
import { type Found, findProgram } from './proxy/find.ts'
import { freePorts, isPinned, pause, residentOf, start, stop } from './proxy/processes.ts'
import { type Report, ratio, type Table, type Target } from './report.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
/** Slices per round of fast gateways: other load on the machine would distort a single one. */
const TURNS = 3
/** Calls per slice for the fastest gateway, if wrk is not installed. */
const CALLS = { [PLAIN.name]: 4_000, [STREAM.name]: 1_000 } as Readonly<Record<string, number>>
/**
 * Warm-up slices, the same number for all gateways. Gateways that V8 compiles while they run make
 * as many calls per slice as the fastest gateway.
 */
const WARM_UP = 10
/** Calls of each gateway whose responses are checked before the measurement. */
const CHECKED = 100
const STREAMS = Number(process.env.BENCH_STREAMS ?? 5_000)

const OWN = 'portcullis, usage counted'
const TRANSLATED = 'portcullis, translated'
const BYTES = 'portcullis, bytes'

/** Model calls through this gateway and others, in one interleaved run. */
export function llm(): Promise<Report> {
  return inFolder(async (folder) => {
    const upstream = await startProvider()
    const peers = [
      await startNginx(folder, upstream),
      await startOwn(folder, upstream, { name: BYTES, provider: 'bytes' }),
      await startOwn(folder, upstream, { name: OWN, provider: 'openAI' }),
      await startOwn(folder, upstream, { name: TRANSLATED, provider: 'anthropic' }),
      await startPortkey(upstream),
      await startLiteLlm(folder, upstream),
    ]
    const gateways = peers.filter((one) => typeof one !== 'string')
    const missing = peers.filter((one) => typeof one === 'string')
    const wrk = findProgram('wrk', '-v')
    const costs = await measure(gateways, (...of) => slice(folder, wrk, ...of))
    const memory = await memoryOfStreams(folder, upstream)
    return {
      intro: [
        'A mock provider that costs next to nothing, one gateway after the other on one core, one',
        'worker each, 16 calls at a time; CPU time of all processes of a gateway for each call. The',
        'fast ones are loaded by wrk as much as they can serve, after calls whose responses were',
        'checked; of Portkey and LiteLLM, which a client in JavaScript keeps busy, every response is',
        `checked. ${ROUNDS} rounds in turn, with ${TURNS} slices each of the fast ones, medians. A stream`,
        'has 50 pieces of text, each a write of the provider. Portcullis authorizes each call by its',
        'model, and counts its tokens; "translated" serves a client of chat completions from a',
        "provider of Anthropic's messages,",
        '"bytes" is a backend that forwards.',
        ...(typeof wrk === 'string' ? [`${wrk}: all were loaded by a client in JavaScript.`] : []),
        ...(isPinned ? [] : ['**Nothing was pinned to a core here: ratios mean little.**']),
        ...missing.map((what) => `Left out: ${what}.`),
      ],
      targets: targetsOf(costs, memory),
      tables: [costTable(gateways, costs), memoryTable(memory)],
    }
  })
}

async function startProvider(): Promise<number> {
  const [port = 0] = await freePorts(1)
  const program = fileURLToPath(import.meta.resolve('./llm/mock-provider.ts'))
  await reachable(port, start('load', process.execPath, [program, String(port)]))
  return port
}

type Costs = ReadonlyMap<string, ReadonlyMap<string, number>>

type Measure = (gateway: ModelGateway, form: CallForm) => Promise<number>

/** Form → gateway → µs. */
async function measure(gateways: readonly ModelGateway[], slice: Measure): Promise<Costs> {
  const found = new Map<string, Map<string, number>>()
  for (const form of [PLAIN, STREAM]) {
    const samples = new Map<ModelGateway, number[]>(gateways.map((one) => [one, []]))
    for (const gateway of gateways) {
      await costOfCalls(gateway, form, CHECKED)
      const share = gateway.isCompiledWhileItRuns ? 1 : gateway.share
      const calls = Math.ceil((CALLS[form.name] ?? 100) * share)
      for (let turn = 0; turn < WARM_UP; turn++) {
        if (gateway.share < 1) await costOfCalls(gateway, form, calls)
        else await slice(gateway, form)
      }
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (let turn = 0; turn < TURNS; turn++) {
        const those = turn === 0 ? gateways : gateways.filter(({ share }) => share === 1)
        for (const gateway of those) samples.get(gateway)?.push(await slice(gateway, form))
      }
    }
    const medians = [...samples].map(([{ name }, all]) => [name, figure(all).median] as const)
    found.set(form.name, new Map(medians))
  }
  return found
}

function slice(
  folder: string,
  wrk: Found | string,
  gateway: ModelGateway,
  form: CallForm,
): Promise<number> {
  if (typeof wrk !== 'string' && gateway.share === 1)
    return costAtFullLoad(wrk.program, folder, gateway, form)
  const calls = Math.ceil((CALLS[form.name] ?? 100) * gateway.share)
  return costOfCalls(gateway, form, calls)
}

interface Memory {
  readonly name: string
  readonly streams: number
  /** MB before the streams are opened and while they are open. */
  readonly before: number
  readonly during: number
}

/** Memory of concurrently open streams, each time in a new gateway. */
async function memoryOfStreams(folder: string, upstream: number): Promise<readonly Memory[]> {
  const found: Memory[] = []
  for (const [name, provider] of [
    [OWN, 'openAI'],
    [TRANSLATED, 'anthropic'],
  ] as const) {
    const gateway = await startOwn(folder, upstream, { name, provider })
    // The first streams fill the heap that was sized for the start; the rest show the added memory.
    const first = await hold(gateway, STREAMS / 5)
    const before = residentOf(gateway.started.pid)
    const rest = await hold(gateway, STREAMS)
    found.push({ name, streams: STREAMS, before, during: residentOf(gateway.started.pid) })
    for (const client of [first, rest]) {
      client.stdin.end()
      await once(client, 'exit')
    }
    await stop(gateway.started)
  }
  return found
}

/** Opens `connections` streams; a client process keeps them open until its stdin ends. */
async function hold({ port, headers }: ModelGateway, connections: number) {
  const own = [...headers, 'x-hold: 1']
  const load: ModelLoad = { ...STREAM, port, headers: own, connections, requests: 0, hold: true }
  const client = spawn(process.execPath, [CLIENT, JSON.stringify(load)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await Promise.race([
    once(client.stdout, 'data'),
    once(client, 'exit').then(() => {
      throw new Error('streams could not be held open')
    }),
  ])
  await pause(3_000)
  return client
}

function costTable(gateways: readonly ModelGateway[], costs: Costs): Table {
  const forms = [PLAIN.name, STREAM.name]
  const cell = (form: string, name: string) => costs.get(form)?.get(name) ?? Number.NaN
  return {
    title: 'CPU time of a call',
    columns: ['gateway', ...forms.flatMap((form) => [`${form}, µs`, '× nginx'])],
    rows: gateways.map(({ name, version }) => [
      version === '' ? name : `${name} ${version}`,
      ...forms.flatMap((form) => {
        const own = cell(form, name)
        return [own.toFixed(0), (own / cell(form, 'nginx')).toFixed(2)]
      }),
    ]),
  }
}

function kilobytes({ before, during, streams }: Memory): number {
  return ((during - before) * 1_000) / streams
}

function memoryTable(memory: readonly Memory[]): Table {
  return {
    title: 'Memory of open streams',
    columns: ['gateway', 'streams', 'before, MB', 'while open, MB', 'each, kB'],
    rows: memory.map((one) => [
      one.name,
      String(one.streams),
      one.before.toFixed(0),
      one.during.toFixed(0),
      kilobytes(one).toFixed(1),
    ]),
  }
}

function targetsOf(costs: Costs, memory: readonly Memory[]): readonly Target[] {
  const cost = (form: CallForm, name: string) => costs.get(form.name)?.get(name) ?? Number.NaN
  const against = (what: string, form: CallForm, own: string, peer: string, max: number) => {
    const measured = cost(form, own) / cost(form, peer)
    if (Number.isNaN(measured)) return []
    return [{ what, wanted: `≤ ${ratio(max)}`, measured: ratio(measured), met: measured <= max }]
  }
  return [
    ...against('plain call against nginx', PLAIN, OWN, 'nginx', 4),
    ...against('stream against nginx', STREAM, OWN, 'nginx', 3.5),
    ...against('translated stream against nginx', STREAM, TRANSLATED, 'nginx', 8),
    ...[PLAIN, STREAM].flatMap((form) => [
      ...against(`${form.name} against Portkey`, form, OWN, 'Portkey', 0.1),
      ...against(`${form.name} against LiteLLM`, form, OWN, 'LiteLLM', 0.01),
    ]),
    ...memory.map((one) => ({
      what: `memory of a stream, ${one.name}`,
      wanted: '≤ 64 kB',
      measured: `${kilobytes(one).toFixed(1)} kB`,
      met: kilobytes(one) <= 64,
    })),
  ]
}
