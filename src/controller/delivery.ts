import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'

/** Delivers Models to the proxies of a Gateway and returns the state that they report. */
export interface Delivery {
  /** Returns the version that proxies report once they have it. */
  publish(gateway: string, model: Model): string
  /** The Gateway no longer exists. */
  withdraw(gateway: string): void
  /** The proxies of a Gateway that are connected to this replica. */
  proxies(gateway: string): readonly ProxyState[]
}

export interface ProxyState {
  /** The name of its pod. */
  readonly node: string
  /** The result of its last update; undefined if there was none. */
  readonly outcome:
    | {
        readonly version: string
        readonly rejections: readonly { readonly diagnostics: readonly Diagnostic[] }[]
      }
    | undefined
}

/** The state of the objects deployed for a Gateway's proxies. */
export interface Deployment {
  readonly addresses: readonly { readonly type: string; readonly value: string }[]
  /** Addresses that the Gateway requests but does not have. */
  readonly missing: readonly string[]
  /** Why the deployment is incomplete. */
  readonly failures: readonly string[]
}
