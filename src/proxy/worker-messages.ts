import type { StreamMessage } from '../exchange/message-streams.ts'
import type { ProviderPause } from '../exchange/provider-pauses.ts'
import type { ModelPatch } from '../model/model-patch.ts'
import type { Secrets } from '../model/secret.ts'
import type { Settings } from '../model/settings.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import type { DecisionQuery } from '../telemetry/decision-ring.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Snapshot } from '../telemetry/snapshot.ts'
import type { Batch } from './decision-batch.ts'
import type { Applied } from './gateway.ts'
import type { QuotaOrder } from './quota-messages.ts'
import type { Revoked } from './revoked-keys.ts'
import type { SignInOrder } from './sign-in-messages.ts'
import type { UserTokenOrder } from './user-token-messages.ts'

export type LogLevel = ReturnType<Logger['level']>

/** From the parent to a worker. */
export type Order =
  | {
      readonly kind: 'apply'
      readonly id: number
      /** Read at startup, except for the model catalog, which is followed. */
      readonly settings: Settings
      /** From the Model of the previous order, whatever its outcome; initially from none. */
      readonly patch: ModelPatch
      /** The secrets that the new parts of the Model refer to. */
      readonly secrets: Secrets
      readonly isStrict: boolean
      /** Any worker resumes TLS sessions that began with another one. */
      readonly ticketSecret: Uint8Array
      /** Where the main process serves the Admin UI. */
      readonly adminSocket: string | undefined
      /** Set while the process runs; if absent, the settings apply. */
      readonly logLevel?: LogLevel
      /** Sessions that are revoked. */
      readonly revoked: readonly Revoked[]
    }
  | { readonly kind: 'log-level'; readonly level: LogLevel }
  | { readonly kind: 'snapshot'; readonly id: number }
  | { readonly kind: 'decisions'; readonly id: number; readonly query: DecisionQuery }
  | { readonly kind: 'drain' }
  | Streamed
  | Paused
  | QuotaOrder
  | SignInOrder
  | UserTokenOrder

/** From a worker to all others, via their parent: a message for the stream of a client. */
export interface Streamed {
  readonly kind: 'streamed'
  readonly message: StreamMessage
}

/** From a worker to all others, and to those that start later: a provider asked for a pause. */
export interface Paused {
  readonly kind: 'paused'
  readonly pause: ProviderPause
}

/** From a worker to its parent, unsolicited: records for the file that the parent writes. */
export interface Decided extends Batch {
  readonly kind: 'decided'
}

/** From a worker to its parent, on request. */
export type Report =
  | {
      readonly kind: 'applied'
      readonly id: number
      readonly applied: Applied
      /** The limits of what it serves now that it shares with the others. */
      readonly quotas: readonly string[]
    }
  | {
      readonly kind: 'snapshot'
      readonly id: number
      readonly snapshot: Snapshot
      readonly connections: number
    }
  | {
      readonly kind: 'decisions'
      readonly id: number
      readonly records: readonly DecisionRecord[]
    }
  | { readonly kind: 'sign-in-known'; readonly id: number }
