import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  type EmbeddedServer,
  findBinaries,
  startEmbedded,
} from '../../src/sources/database/embedded-server.ts'

/** Undefined if PostgreSQL is missing: the tests are skipped with a reason. */
export const BINARIES = await findBinaries()
export const SKIPPED =
  BINARIES === undefined ? 'npm provides no PostgreSQL for this platform' : false

/** A real server in its own folder, which can be stopped and started again. */
export interface TestServer {
  readonly url: string
  readonly folder: string
  readonly pid: () => number
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>
  readonly start: () => Promise<void>
  readonly query: (
    text: string,
    values?: readonly unknown[],
    at?: string,
  ) => Promise<readonly never[]>
  /** Creates a database for one test. */
  readonly database: () => Promise<string>
  readonly remove: () => Promise<void>
}

/** `folder`: an empty folder or one with the data of a server; by default a new one. */
export async function startServer(options: { readonly folder?: string } = {}): Promise<TestServer> {
  if (BINARIES === undefined) throw new Error('there is no PostgreSQL')
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'portcullis-pg-'))
  let server: EmbeddedServer = await startEmbedded(folder, BINARIES)
  let count = 0
  const { url } = server
  const query = async (text: string, values: readonly unknown[] = [], at = url) => {
    const client = new pg.Client({ connectionString: at })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text, [...values])).rows as unknown as readonly never[]
    } finally {
      await client.end()
    }
  }
  return {
    url,
    folder,
    pid: () => server.pid,
    stop: (signal) => server.stop(signal),
    start: async () => {
      server = await startEmbedded(folder, BINARIES as NonNullable<typeof BINARIES>)
    },
    query,
    database: async () => {
      const name = `test_${++count}`
      await query(`create database ${name}`)
      return url.replace(/\/postgres$/, `/${name}`)
    },
    remove: async () => {
      await server.stop('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
