import { execFile } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunTool, ToolResult } from '../admin/api/deps.ts'
import type { Environment } from '../sources/file/expand.ts'

const MAX_RUNNING = 2
const MAX_WAITING = 8
const TIMEOUT_MS = 120_000
const MAX_TEXT = 64 * 1024 * 1024
/** A tenth of the time of a process that serves, if there is not enough for both. */
export const LOW_PRIORITY = 10

export interface ToolRunsOptions {
  readonly environment: Environment
  /** The program to run; by default, this one. */
  readonly entry?: string
}

/**
 * Runs commands in separate processes. Their input contains secrets, so it is kept in memory if the
 * machine supports this, and deleted with the process.
 */
export function openTools({
  environment,
  entry = process.argv[1] as string,
}: ToolRunsOptions): RunTool {
  const queue = new Queue(MAX_RUNNING)
  return async (command, args, files) => {
    if (!(await queue.begin())) return 'busy'
    const folder = mkdtempSync(join(memoryFolder(), 'portcullis-'))
    try {
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(folder, name), text, { mode: 0o600 })
      }
      const own = args.map((arg) => arg.replace(/^FILES\//, `${folder}/`))
      const result = await runApart([entry, command, ...own], environment)
      // The folder is of no use to callers.
      const clean = (text: string) => text.replaceAll(`${folder}/`, '')
      return { ...result, out: clean(result.out), err: clean(result.err) }
    } finally {
      rmSync(folder, { recursive: true, force: true })
      queue.end()
    }
  }
}

class Queue {
  readonly #max: number
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** False if too many wait already. */
  async begin(): Promise<boolean> {
    if (this.#running >= this.#max) {
      if (this.#waiting.length >= MAX_WAITING) return false
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#running++
    return true
  }

  end(): void {
    this.#running--
    this.#waiting.shift()?.()
  }
}

function runApart(args: readonly string[], environment: Environment): Promise<ToolResult> {
  return new Promise((resolve) => {
    const settings = { env: environment, timeout: TIMEOUT_MS, maxBuffer: MAX_TEXT } as const
    const all = [...process.execArgv, ...args]
    const child = execFile(process.execPath, all, settings, (error, out, err) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : 1
      const killed = error?.killed === true ? 'stopped because it took too long' : ''
      resolve({ code, out, err: err === '' ? killed : err })
    })
    try {
      if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY)
    } catch {
      // The process has exited, or its priority cannot be lowered.
    }
  })
}

function memoryFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK | constants.X_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}
