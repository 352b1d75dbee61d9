import type { StoredToken } from '../exchange/user-token-store.ts'

/** From a worker to its parent, which keeps the tokens of users for all workers. */
export interface UserTokenReport {
  readonly kind: 'user-token'
  readonly id: number
  readonly asks: UserTokenCall
}

export type UserTokenCall =
  | { readonly does: 'read'; readonly key: string }
  | { readonly does: 'write'; readonly key: string; readonly token: StoredToken }
  | {
      readonly does: 'replace'
      readonly key: string
      readonly version: string
      readonly token: StoredToken
    }
  | { readonly does: 'claim'; readonly key: string; readonly version: string }
  | { readonly does: 'remove'; readonly key: string; readonly version: string | undefined }

/** From the parent to a worker. */
export interface UserTokenOrder {
  readonly kind: 'user-token-response'
  readonly id: number
  readonly value: unknown
  /** Why it failed. */
  readonly error: string | undefined
}
