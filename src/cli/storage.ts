import { dirname, resolve } from 'node:path'
import type { Status } from '../admin/responses.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import { runCooperatively } from '../model/steps.ts'
import { Configuration } from '../sources/database/configuration.ts'
import { KnownResources } from '../sources/database/known-resources.ts'
import { loadMerged } from '../sources/database/load.ts'
import { createSealing, readKeys } from '../sources/database/sealing.ts'
import { SecretReferences } from '../sources/database/secrets.ts'
import type { Store } from '../sources/database/store.ts'
import { storedTextSteps } from '../sources/database/stored-text.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { Loaded } from '../sources/file/load.ts'
import {
  storageConnected,
  storageReconnects,
  storageRevision,
} from '../telemetry/definitions/storage.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { servableAfter } from './check-model.ts'
import { StoredValidator } from './stored-validator.ts'

const now = () => performance.now()
const KEY = 'PORTCULLIS_STORAGE_KEY'

/** The storage for edits of the configuration. */
export interface Storage {
  readonly configuration: Configuration
  readonly store: Store | undefined
  /** The cached resources. */
  readonly known: KnownResources
  readonly validator: StoredValidator
}

export interface StorageOptions {
  readonly file: string
  readonly environment: Environment
  readonly settings: Settings
  readonly log: Logger
  readonly metrics: Metrics
  /** Called when the stored configuration changes. */
  readonly changed: () => void
}

/** Opens a store if the file configures one; returns a Diagnostic on failure. */
export async function openStorage(options: StorageOptions): Promise<Storage | Diagnostic> {
  const { file, environment, settings } = options
  const keys = environment[KEY] === undefined ? [] : readKeys(environment[KEY])
  if (keys === undefined) {
    return {
      code: 'PC0407',
      severity: 'error',
      message: `\`${KEY}\` must be a list of keys with 64 hexadecimal digits each`,
      origin: { kind: 'object', object: 'environment', field: KEY },
      hint: 'generate keys with `openssl rand -hex 32`; separate them with commas, newest first',
    }
  }
  const [first] = keys
  const references = first === undefined ? new SecretReferences() : new SecretReferences(first)
  const store =
    settings.storage.mode === 'database' ? await openStore(options, settings, keys) : undefined
  const known = new KnownResources()
  const validator = new StoredValidator(known)
  const validate = validator.validate.bind(validator)
  return {
    store,
    configuration: new Configuration({ file, environment, store, references, validate }),
    known,
    validator,
  }
}

async function openStore(
  { file, log, metrics, changed }: StorageOptions,
  { database }: Settings,
  keys: readonly Buffer[],
): Promise<Store> {
  const url = database?.url.secret.trim() ?? ''
  // Loaded only if a database is configured.
  const { Store } = await import('../sources/database/store.ts')
  const { StateFile } = await import('../sources/database/state-file.ts')
  const stateFile = database?.stateFile && resolve(dirname(file), database.stateFile)
  const connected = metrics.gauge(storageConnected).at({})
  const revision = metrics.gauge(storageRevision).at({})
  const reconnects = metrics.counter(storageReconnects).at({})
  const failed = (error: string) => log.warn('storage', { file: stateFile, error })
  const store: Store = new Store({
    url,
    maxConnections: database?.maxConnections ?? 5,
    sealing: keys.length === 0 ? undefined : createSealing(keys),
    stateFile: stateFile === undefined ? undefined : new StateFile(stateFile, failed),
    events: {
      changed: () => {
        revision.set(store.state.revision)
        changed()
      },
      connected: () => {
        connected.set(1)
        log.info('storage', { message: 'connected', revision: store.state.revision })
      },
      lost: (error, retryIn) => {
        connected.set(0)
        reconnects.inc()
        log.warn('storage', { error, retryIn: Math.round(retryIn) })
      },
    },
  })
  return store
}

/** Loads the file with the stored edits for serving: part by part, as from a cluster. */
export async function loadStored(
  { store, known }: Storage,
  file: string,
  environment: Environment,
  before: Model | undefined,
): Promise<Loaded> {
  // Without the edits, this is a different configuration: nothing is served until they are known.
  await store?.known
  const loaded = await runCooperatively(
    loadMerged(file, environment, store?.stored ?? [], known),
    now,
  )
  return servableAfter(file, loaded, { before, isStrict: false })
}

/** The stored resources, for the process that lints them; the text contains secrets. */
export function storedForLint({ stored }: Store): Promise<string> {
  return runCooperatively(storedTextSteps(stored), now)
}

/**
 * A gateway that serves its last stored configuration is ready; the detail says that it may be out
 * of date.
 */
export function withStorage(status: Status, { store }: Storage): Status {
  if (store === undefined) return status
  const { isConnected, revision, problem = '' } = store.state
  if (isConnected && problem === '') return status
  const detail = status.isReady
    ? `${status.detail}, serving revision ${revision} because the database cannot be read: ${problem}`
    : `${status.detail}: ${problem}`
  return { ...status, detail }
}
