import { Worker } from 'node:worker_threads'
import type { PasswordHash } from './htpasswd.ts'
import type { PasswordQuestion, PasswordResult } from './password-worker.ts'

/** Max number of password checks in progress; requests beyond that are rejected as unavailable. */
const MAX_WAITING = 64

/**
 * The single thread of this process that checks passwords. A check takes tens of milliseconds by
 * design and must not block other requests; a single thread bounds the cost of wrong passwords.
 */
class PasswordThread {
  readonly #waiting = new Map<number, (isRight: boolean | undefined) => void>()
  #worker: Worker | undefined
  #ids = 0

  /** Undefined if the check was not possible: the queue is full, or the thread ended. */
  check(password: string, hash: PasswordHash): Promise<boolean | undefined> {
    if (this.#waiting.size >= MAX_WAITING) return Promise.resolve(undefined)
    this.#worker ??= this.#start()
    const id = ++this.#ids
    // A pending check keeps the process alive; the thread alone does not.
    this.#worker.ref()
    this.#worker.postMessage({ id, password, hash } satisfies PasswordQuestion)
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  #start(): Worker {
    const worker = startThread()
    worker.on('message', ({ id, isRight }: PasswordResult) => {
      this.#waiting.get(id)?.(isRight)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
    })
    worker.on('error', () => {})
    worker.on('exit', () => {
      this.#worker = undefined
      for (const settle of this.#waiting.values()) settle(undefined)
      this.#waiting.clear()
    })
    return worker
  }
}

/** Next to this source file, next to the bundle of a release, or inside a single-file release. */
function startThread(): Worker {
  const { getAsset, isSea } = process.getBuiltinModule('node:sea')
  if (isSea()) {
    return new Worker(getAsset('password-worker.cjs', 'utf8'), { eval: true, execArgv: [] })
  }
  const isBundle = !import.meta.url.endsWith('.ts')
  const name = isBundle ? './password-worker.mjs' : './password-worker.ts'
  return new Worker(new URL(name, import.meta.url), { execArgv: [] })
}

export const passwordThread = new PasswordThread()
