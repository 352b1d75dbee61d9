// HOT PATH: asked of every field that is not plain. Guarded by bench/proxy.ts.

import {
  CONNECTION,
  KEEP_ALIVE,
  kindOfName,
  TRANSFER_ENCODING,
  UPGRADE,
} from '../http1/field-names.ts'

const PROXY_CONNECTION = kindOfName(Buffer.from('proxy-connection', 'latin1'), 0, 16)

/** RFC 9113 §8.2.2: fields that speak of a connection have no place here. */
export function isOfConnection(kind: number): boolean {
  return (
    kind === CONNECTION ||
    kind === KEEP_ALIVE ||
    kind === PROXY_CONNECTION ||
    kind === TRANSFER_ENCODING ||
    kind === UPGRADE
  )
}
