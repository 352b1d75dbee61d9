import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runToCompletion } from '../../src/model/steps.ts'
import type { Change } from '../../src/sources/database/configuration.ts'
import { Configuration } from '../../src/sources/database/configuration.ts'
import { loadOver } from '../../src/sources/database/load.ts'
import { createSealing } from '../../src/sources/database/sealing.ts'
import { SecretReferences } from '../../src/sources/database/secrets.ts'
import { StateFile } from '../../src/sources/database/state-file.ts'
import { Store } from '../../src/sources/database/store.ts'

export const BASELINE = `gateways:
  default: { port: 8080 }
routes:
- name: orders
  backends: [{ host: "orders:80" }]
`

export interface Replica {
  readonly store: Store
  readonly configuration: Configuration
  readonly errors: readonly string[]
  readonly changes: () => number
  readonly write: (...changes: readonly Change[]) => ReturnType<Configuration['write']>
  readonly close: () => Promise<void>
}

export interface ReplicaOptions {
  readonly keys?: readonly Buffer[]
  readonly baseline?: string
  readonly stateFile?: string
  readonly author?: string
}

/** The parts of a gateway around a store, in this process. */
export function openReplica(url: string, options: ReplicaOptions = {}): Replica {
  const { keys = [], baseline = BASELINE, stateFile, author = 'alice' } = options
  const file = join(mkdtempSync(join(tmpdir(), 'portcullis-replica-')), 'gateway.yaml')
  writeFileSync(file, baseline)
  const errors: string[] = []
  let changes = 0
  const store = new Store({
    url,
    maxConnections: 5,
    sealing: keys.length === 0 ? undefined : createSealing(keys),
    stateFile:
      stateFile === undefined ? undefined : new StateFile(stateFile, (e) => errors.push(e)),
    events: {
      changed: () => void changes++,
      connected: () => {},
      lost: (error) => errors.push(error),
    },
  })
  store.start()
  const configuration = new Configuration({
    file,
    environment: {},
    store,
    references: new SecretReferences(keys[0]),
    validate: async (own, merged) => runToCompletion(loadOver(own, merged)).result.diagnostics,
  })
  const by = { author, action: 'change', comment: '' }
  return {
    store,
    configuration,
    errors,
    changes: () => changes,
    write: (...all) => configuration.write(store, all, by),
    close: () => store.close(),
  }
}
