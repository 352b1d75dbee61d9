import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fullLoad } from '../proxy/load.ts'
import { cpuOf, runToEnd } from '../proxy/processes.ts'
import type { ModelGateway } from './peers.ts'

/** The argument of ./client.ts. */
export interface ModelLoad {
  readonly port: number
  readonly path: string
  /** `name: value` */
  readonly headers: readonly string[]
  readonly body: object
  readonly connections: number
  readonly requests: number
  /** Strings that a complete response contains. */
  readonly wanted: readonly string[]
  readonly hold?: boolean
}

export interface ModelLoadResult {
  readonly done: number
  readonly failed: number
  /** An excerpt of a response that failed the check. */
  readonly sample: string
  readonly opened: number
}

/** One kind of call. */
export interface CallForm {
  readonly name: string
  readonly path: string
  readonly body: object
  readonly wanted: readonly string[]
}

const CONVERSATION = [
  { role: 'system', content: 'You are a helpful assistant who answers in plain words.' },
  { role: 'user', content: 'Which gateway is the one to choose? '.repeat(4) },
]

const COMPLETIONS = { model: 'mock-model', messages: CONVERSATION, max_tokens: 200 }

export const PLAIN: CallForm = {
  name: 'plain',
  path: '/v1/chat/completions',
  body: COMPLETIONS,
  wanted: ['"completion_tokens":50'],
}

export const STREAM: CallForm = {
  name: 'stream of 50',
  path: '/v1/chat/completions',
  body: { ...COMPLETIONS, stream: true },
  wanted: ['[DONE]'],
}

export const CLIENT: string = fileURLToPath(import.meta.resolve('./client.ts'))

/** Concurrent calls. */
const CONNECTIONS = 16

/** CPU µs of the gateway per call; every response is checked. */
export async function costOfCalls(
  gateway: ModelGateway,
  form: CallForm,
  requests: number,
  connections: number = CONNECTIONS,
): Promise<number> {
  const { port, headers } = gateway
  const { pid } = gateway.started
  const load: ModelLoad = { ...form, port, headers, connections, requests }
  const before = cpuOf(pid)
  const result: ModelLoadResult = JSON.parse(
    await runToEnd('load', process.execPath, [CLIENT, JSON.stringify(load)]),
  )
  const after = cpuOf(pid)
  if (result.failed > 0 || result.done !== requests) {
    const { failed, sample } = result
    throw new Error(`${gateway.name}, ${form.name}: ${failed} calls went wrong: ${sample}`)
  }
  return ((after.user + after.kernel - before.user - before.kernel) * 1e6) / requests
}

/** The same at full load, by wrk: a JavaScript client would be slower than the gateway. */
export async function costAtFullLoad(
  wrk: string,
  folder: string,
  { port, headers, started }: ModelGateway,
  { name, path, body }: CallForm,
): Promise<number> {
  const script = join(folder, `${name.replaceAll(' ', '-')}.lua`)
  const content = `wrk.headers["content-type"] = "application/json"`
  writeFileSync(
    script,
    `wrk.method = "POST"\n${content}\nwrk.body = [==[${JSON.stringify(body)}]==]\n`,
  )
  const load = { url: `http://127.0.0.1:${port}${path}`, connections: CONNECTIONS, seconds: 1 }
  const { user, kernel } = await fullLoad(wrk, started.pid, { ...load, headers, script })
  return user + kernel
}
