import type { Connection } from '../exchange/connection.ts'
import type { Accepted } from './accept.ts'

export interface TlsObserver {
  secured(): void
  unsecured(connection: unknown, listener: unknown, reason: string): void
}

export function acceptTls(accepted: Accepted, connection: Connection): void {
  accepted.reject('no-route', 'tls', connection)
}
