import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'

/** How Models get to the proxies of a Gateway, and what the proxies say of them. */
export interface Delivery {
  /** Returns the version that proxies report once they have it. */
  publish(gateway: string, model: Model): string
  /** There is no such Gateway any more. */
  withdraw(gateway: string): void
  /** The proxies of a Gateway that are connected to this replica. */
  proxies(gateway: string): readonly ProxyState[]
}

export interface ProxyState {
  /** The name of its pod. */
  readonly node: string
  /** What it applied last; undefined: nothing yet. */
  readonly outcome:
    | {
        readonly version: string
        readonly rejections: readonly { readonly diagnostics: readonly Diagnostic[] }[]
      }
    | undefined
}

/** What the objects of a Gateway's proxies say: those that somebody deployed for it. */
export interface Deployment {
  readonly isReady: boolean
  readonly addresses: readonly { readonly type: string; readonly value: string }[]
  /** Those that the Gateway asks for and does not have. */
  readonly missing: readonly string[]
  /** Why it is not all that it should be. */
  readonly failures: readonly string[]
}
