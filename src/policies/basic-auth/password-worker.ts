import { parentPort } from 'node:worker_threads'
import { checkPassword } from './check-password.ts'
import type { PasswordHash } from './htpasswd.ts'

/** A question to the thread that checks passwords, and its response under the same number. */
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
    // What cannot be checked is not right.
  }
  parentPort?.postMessage({ id, isRight } satisfies PasswordResult)
})
