import { parentPort, workerData } from 'node:worker_threads'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import { type Secrets, secretsIn } from '../model/secret.ts'
import type { Environment } from '../sources/file/expand.ts'
import { type Loaded, loadFile, readText } from '../sources/file/load.ts'
import { type PlaceTable, tableOf } from '../sources/file/table-places.ts'

/** The command with which the program, started as a thread, reads a configuration. */
export const THREAD = 'load'

export interface ThreadData {
  readonly file: string
  readonly environment: Environment
}

/** The first message of the thread; further routes are requested by the number already received. */
export interface Begun {
  /** Without its routes. */
  readonly model: Model | undefined
  readonly routes: number
  /** The secrets that the Model and the routes refer to. */
  readonly secrets: Secrets
  readonly settings: Loaded['settings']
  readonly diagnostics: readonly Diagnostic[]
  readonly files: Loaded['files']
  readonly table: PlaceTable | undefined
  readonly digest: Loaded['digest']
}

const ROUTES_AT_ONCE = 250

/** Reads the configuration in its worker data, then waits for requests for its routes. */
export function runThread(): Promise<number> {
  const { file, environment } = workerData as ThreadData
  const { result, settings, files, digest, places } = loadFile(file, { environment })
  const { value, diagnostics } = result
  const { routes = [] } = value ?? {}
  const model = value && { ...value, routes: [] }
  const read = value && readText(file)
  const text = read && 'text' in read ? read.text : ''
  const table = value && tableOf(places, value, file, text)
  const said = { diagnostics, settings, files, digest, table }
  const begun: Begun = { model, routes: routes.length, secrets: secretsIn(value), ...said }
  parentPort?.postMessage(begun)
  // Runs until the parent terminates it.
  return new Promise(() => {
    parentPort?.on('message', (from: number) => {
      parentPort?.postMessage(routes.slice(from, from + ROUTES_AT_ONCE))
    })
  })
}
