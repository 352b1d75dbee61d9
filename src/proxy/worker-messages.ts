import type { Model } from '../model/model.ts'
import type { Snapshot } from '../telemetry/snapshot.ts'
import type { Applied } from './gateway.ts'

/** From the parent to a worker. */
export type Order =
  | {
      readonly kind: 'apply'
      readonly id: number
      readonly model: Model
      /** TLS sessions that began with one worker go on with any. */
      readonly ticketSecret: Uint8Array
    }
  | { readonly kind: 'snapshot'; readonly id: number }
  | { readonly kind: 'drain' }

/** From a worker to its parent. */
export type Report =
  | { readonly kind: 'applied'; readonly id: number; readonly applied: Applied }
  | {
      readonly kind: 'snapshot'
      readonly id: number
      readonly snapshot: Snapshot
      readonly connections: number
    }
