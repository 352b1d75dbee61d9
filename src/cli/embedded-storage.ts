import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../model/settings.ts'
import type { Binaries } from '../sources/database/embedded-server.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { Terminal } from './define.ts'

/** A database that ships with the gateway, so that changes can be stored on a first run. */
export interface EmbeddedStorage {
  readonly settings: Pick<Settings, 'storage' | 'database'>
  readonly environment: Environment
  stop(): Promise<void>
}

const KEY = 'PORTCULLIS_STORAGE_KEY'

/** Undefined if unavailable; prints one line with the reason, and the gateway is read-only. */
export async function openEmbedded(
  { environment, err }: Pick<Terminal, 'environment' | 'err'>,
  find?: () => Promise<Binaries | undefined>,
): Promise<EmbeddedStorage | undefined> {
  const without = (why: string) => {
    err(`This gateway is read-only because it cannot store changes: ${why}\n`)
    return undefined
  }
  try {
    const { findBinaries, startEmbedded } = await import('../sources/database/embedded-server.ts')
    const binaries = await (find ?? findBinaries)()
    if (binaries === undefined)
      return without(
        'this build has no PostgreSQL; set `config.database` and `config.storage.mode: database` to use one',
      )
    const folder = dataFolder(environment)
    // When started as root, the server runs as another user, which must reach its own folder.
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    const server = await startEmbedded(join(folder, 'postgres'), binaries)
    const secret = environment[KEY] ?? keyOf(join(folder, 'storage-key'))
    return {
      settings: {
        storage: { mode: 'database' },
        database: { url: { secret: server.url }, maxConnections: 5 },
      },
      environment: { ...environment, [KEY]: secret },
      stop: () => server.stop(),
    }
  } catch (error) {
    return without((error as Error).message.split('\n', 1)[0] ?? '')
  }
}

/** The user's data folder; for root, one that the unprivileged user of the server can reach. */
function dataFolder(environment: Environment): string {
  const named = environment['PORTCULLIS_DATA']
  if (named !== undefined && named !== '') return named
  if (process.getuid?.() === 0) return '/var/lib/portcullis'
  const home = environment['XDG_DATA_HOME'] || join(homedir(), '.local', 'share')
  return join(home, 'portcullis')
}

function keyOf(file: string): string {
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  }
  return readFileSync(file, 'utf8').trim()
}
