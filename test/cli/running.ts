import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export { freePort } from '../free-port.ts'

const ENTRY = join(import.meta.dirname, '../../bin/portcullis.ts')

/** The gateway as a separate process. */
export interface Running {
  readonly child: ChildProcess
  readonly out: () => string
  readonly exit: Promise<number | null>
}

export function start(...args: readonly string[]): Running {
  const child = spawn(process.execPath, [ENTRY, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => (text += bytes))
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  return { child, out: () => text, exit }
}

/** Milliseconds: the machine may be busy with something else. */
const TIMEOUT_MS = 600_000

export async function until(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; ) {
    if (await test()) return
    await wait(25)
  }
  assert.fail(`waited in vain for ${what}`)
}

export const status = (port: number, path = '/', init?: RequestInit) =>
  fetch(`http://127.0.0.1:${port}${path}`, init).then(
    async (response) => {
      await response.text()
      return response.status
    },
    () => 0,
  )
