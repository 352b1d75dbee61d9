import type { Revoked } from './revoked-keys.ts'

/** From a worker to its parent: what one of them does about a session concerns all of them. */
export type SignInReport =
  | {
      readonly kind: 'sign-in'
      readonly does: 'revoke'
      readonly id: number
      readonly revoked: Revoked
    }
  /** Work that is to be done once for all workers, such as to use up a refresh token. */
  | { readonly kind: 'sign-in'; readonly does: 'claim'; readonly id: number; readonly key: string }
  /** What came of it; undefined: it failed. */
  | {
      readonly kind: 'sign-in'
      readonly does: 'settle'
      readonly key: string
      readonly value: unknown
    }

/** From the parent to a worker. */
export type SignInOrder =
  /** To be acknowledged, if it has an id. */
  | {
      readonly kind: 'sign-in-revoked'
      readonly id: number | undefined
      readonly revoked: readonly Revoked[]
    }
  | { readonly kind: 'sign-in-revoked-by-all'; readonly id: number }
  /** `isOwn`: the worker is to do it; otherwise what came of it. */
  | {
      readonly kind: 'sign-in-claimed'
      readonly id: number
      readonly isOwn: boolean
      readonly value: unknown
    }
