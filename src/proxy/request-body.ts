// HOT PATH: a body on its way to an upstream. Guarded by bench/proxy.ts.

import { LAST_CHUNK, renderTrailers, writeChunked } from '../wire/http1/chunked.ts'
import type { Fields } from '../wire/http1/fields.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'

/*
 * An upstream receives chunked bodies with their framing. A body that was read for an expression
 * arrives without it: data that the client wrote must never become framing.
 */

/** `encodes`: the bytes arrive without the chunk framing that the head declares. */
export function writeBody(upstream: UpstreamConnection, bytes: Buffer, encodes: boolean): boolean {
  if (!encodes) return upstream.write(bytes)
  return bytes.length === 0 || writeChunked(upstream, bytes)
}

export function endBody(
  upstream: UpstreamConnection,
  trailers: Fields | undefined,
  encodes: boolean,
): void {
  if (trailers !== undefined) {
    upstream.writeText(`${encodes ? '0\r\n' : ''}${renderTrailers(trailers)}`)
  } else if (encodes) upstream.writeText(LAST_CHUNK)
  upstream.end()
}
