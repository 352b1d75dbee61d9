import { parentPort } from 'node:worker_threads'
import { checkPassword } from './check-password.ts'
import type { PasswordHash } from './htpasswd.ts'

/** A request to the thread that checks passwords; its result has the same id. */
export interface PasswordQuestion {
  readonly id: number
  readonly password: string
  readonly hash: PasswordHash
}

export interface PasswordResult {
  readonly id: number
  readonly isRight: boolean
}

parentPort?.on('message', ({ id, password, hash }: PasswordQuestion) => {
  let isRight = false
  try {
    isRight = checkPassword(password, hash)
  } catch {
    // A hash that cannot be checked does not match.
  }
  parentPort?.postMessage({ id, isRight } satisfies PasswordResult)
})
