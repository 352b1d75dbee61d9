import { after } from 'node:test'
import { startServer, type TestServer } from './postgres.ts'

let shared: Promise<TestServer> | undefined
after(async () => (await shared)?.remove())

/**
 * One server for all files of a process, with a database for each test. A test that stops it starts
 * it again.
 */
export function sharedServer(): Promise<TestServer> {
  shared ??= startServer()
  return shared
}
