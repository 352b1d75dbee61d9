import { after } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser } from './launch.ts'

let shared: Promise<Browser> | undefined
after(async () => (await shared)?.close())

/** One browser for all files of a process, with a context for each test. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= launchBrowser({ trusted: [], names: [] })
  return shared
}
