import type { Reason } from '../telemetry/definitions/labels.ts'
import type { Rejection } from '../wire/http1/rejections.ts'
import type { RejectedConnection, Unserved } from './rejection.ts'

/** The causes in records of connections that were closed. */
export const CAUSES_OF_CLOSING = {
  connections: 'overload',
  'connections-per-address': 'overload',
  authorization: 'authorization',
  'proxy-protocol': 'bad-request',
  'no-route': 'no-route',
  draining: 'draining',
} as const satisfies Record<RejectedConnection['word'], Reason>

/** The reason for the access log and the record of a request without an exchange. */
export function reasonOf(word: Unserved['word'], status: number): Reason {
  if (word === 'internal') return word
  return status === 404 || status === 421 ? 'no-route' : 'bad-request'
}

/** Rejections caused by limits. */
export const LIMITS_OF_REJECTIONS: {
  readonly [word in Rejection['word']]?: 'head-size' | 'header-count' | 'header-timeout'
} = {
  'head-too-large': 'head-size',
  'target-too-long': 'head-size',
  'trailers-too-large': 'head-size',
  'too-many-headers': 'header-count',
  'head-timeout': 'header-timeout',
}
