// HOT PATH: called for every field that is not plain. Guarded by bench/proxy.ts.

import {
  CONNECTION,
  KEEP_ALIVE,
  kindOfName,
  TRANSFER_ENCODING,
  UPGRADE,
} from '../http1/field-names.ts'

const PROXY_CONNECTION = kindOfName(Buffer.from('proxy-connection', 'latin1'), 0, 16)

/** RFC 9113 §8.2.2: connection-specific fields are not allowed in HTTP/2. */
export function isOfConnection(kind: number): boolean {
  return (
    kind === CONNECTION ||
    kind === KEEP_ALIVE ||
    kind === PROXY_CONNECTION ||
    kind === TRANSFER_ENCODING ||
    kind === UPGRADE
  )
}
