import type { Revoked } from './revoked-keys.ts'

/** From a worker to its parent: an action of one worker on a session concerns all of them. */
export type SignInReport =
  | {
      readonly kind: 'sign-in'
      readonly does: 'revoke'
      readonly id: number
      readonly revoked: Revoked
    }
  /** Work that must be done only once for all workers, such as using up a refresh token. */
  | { readonly kind: 'sign-in'; readonly does: 'claim'; readonly id: number; readonly key: string }
  /** The outcome; undefined: it failed. */
  | {
      readonly kind: 'sign-in'
      readonly does: 'settle'
      readonly key: string
      readonly value: unknown
    }

/** From the parent to a worker. */
export type SignInOrder =
  /** Must be acknowledged, if it has an id. */
  | {
      readonly kind: 'sign-in-revoked'
      readonly id: number | undefined
      readonly revoked: readonly Revoked[]
    }
  | { readonly kind: 'sign-in-revoked-by-all'; readonly id: number }
  /** `isOwn`: this worker must do it; otherwise `value` is the outcome. */
  | {
      readonly kind: 'sign-in-claimed'
      readonly id: number
      readonly isOwn: boolean
      readonly value: unknown
    }
