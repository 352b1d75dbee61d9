import { Worker, type WorkerOptions } from 'node:worker_threads'
import { NO_PLACES } from '../diagnostics/places.ts'
import { rejection, success } from '../diagnostics/result.ts'
import type { Route } from '../model/route.ts'
import { resolveSecrets } from '../model/secret.ts'
import { runCooperatively } from '../model/steps.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { KnownItems } from '../sources/file/known-items.ts'
import { type Loaded, loadFileSteps } from '../sources/file/load.ts'
import { NotQuick } from '../sources/file/read.ts'
import { TablePlaces } from '../sources/file/table-places.ts'
import { type Begun, THREAD, type ThreadData } from './thread.ts'

/**
 * Loads a configuration while requests are served: in between, or in a thread if a single step
 * would take too long. The result is not frozen yet.
 */
export async function loadBetweenRequests(
  file: string,
  environment: Environment,
  known?: KnownItems,
): Promise<Loaded> {
  try {
    const steps = loadFileSteps(file, { environment, isQuick: true, known })
    return await runCooperatively(steps, () => performance.now())
  } catch (error) {
    if (!(error instanceof NotQuick)) throw error
  }
  return loadInThread(file, environment)
}

export interface ThreadOptions {
  /** The program that the thread runs; by default, this one. */
  readonly entry?: string
  /** Milliseconds until the thread is terminated. */
  readonly timeout?: number
  readonly maxMegabytes?: number
}

/** Rejects if the thread crashes, runs out of memory or does not finish. */
export async function loadInThread(
  file: string,
  environment: Environment,
  options: ThreadOptions = {},
): Promise<Loaded> {
  const { entry = process.argv[1] as string, timeout = 60_000, maxMegabytes = 2_048 } = options
  const workerData: ThreadData = { file, environment: { ...environment } }
  const resourceLimits = { maxOldGenerationSizeMb: maxMegabytes }
  const thread = startThread(entry, { argv: [THREAD], workerData, resourceLimits })
  let timer: NodeJS.Timeout | undefined
  const failed = new Promise<never>((_, reject) => {
    thread.once('error', reject)
    thread.once('exit', (code) => reject(new Error(`the reader thread exited with code ${code}`)))
    const late = new Error(`reading it took longer than ${timeout / 1_000} s`)
    timer = setTimeout(reject, timeout, late)
  })
  try {
    return await Promise.race([take(thread), failed])
  } finally {
    clearTimeout(timer)
    void thread.terminate()
  }
}

/** A single-file release has no script path: the executable contains the script as an asset. */
function startThread(entry: string, options: WorkerOptions): Worker {
  const { getAsset, isSea } = process.getBuiltinModule('node:sea')
  return isSea()
    ? new Worker(getAsset('start.cjs', 'utf8'), { ...options, eval: true })
    : new Worker(entry, options)
}

/** Transfers routes in batches: messages of a thread are deserialized here, between requests. */
async function take(thread: Worker): Promise<Loaded> {
  const next = <T>() => new Promise<T>((resolve) => thread.once('message', resolve))
  const { model, diagnostics, routes, secrets, table, ...said } = await next<Begun>()
  const places = table === undefined ? NO_PLACES : new TablePlaces(table)
  const rest = { ...said, places }
  if (model === undefined) return { result: rejection(diagnostics), ...rest }
  const taken: Route[] = []
  while (taken.length < routes) {
    thread.postMessage(taken.length)
    taken.push(...(await next<readonly Route[]>()))
  }
  const whole = { ...model, routes: taken }
  await runCooperatively(resolveSecrets(whole, secrets), () => performance.now())
  return { result: success(whole, diagnostics), ...rest }
}
