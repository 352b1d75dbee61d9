import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { PORTCULLIS } from '../programs.ts'

export { freePort } from '../free-port.ts'

/** The gateway as a separate process. */
export interface Running {
  readonly child: ChildProcess
  readonly out: () => string
  readonly exit: Promise<number | null>
}

export function start(...args: readonly string[]): Running {
  return startWith({}, args)
}

/** With these variables in addition. */
export function startWith(
  variables: Readonly<Record<string, string>>,
  args: readonly string[],
): Running {
  const env = { ...process.env, ...variables }
  const child = spawn(process.execPath, [PORTCULLIS, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
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
