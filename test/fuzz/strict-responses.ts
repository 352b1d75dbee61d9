import assert from 'node:assert/strict'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'

export const mayHaveBody = (status: number, method: string): boolean =>
  method !== 'HEAD' && status !== 204 && status !== 304

export interface Read {
  readonly status: number
  readonly fields: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly trailers: string
  readonly rest: Buffer
}

/**
 * Parses a response strictly according to RFC 9112 §6; undefined: it is incomplete. `isEnded`: the
 * connection was closed cleanly.
 */
export function readResponse(bytes: Buffer, method: string, isEnded: boolean): Read | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  assert.match(line, /^HTTP\/1\.1 [1-5]\d\d [ -~]*$/)
  const status = Number(line.slice(9, 12))
  const fields = new Map(lines.map((one) => one.split(': ', 2) as [string, string]))
  const after = bytes.subarray(end + 4)
  const none = { status, fields, trailers: '' }
  if (status < 200 || !mayHaveBody(status, method))
    return { ...none, body: Buffer.alloc(0), rest: after }
  if (fields.get('transfer-encoding') === 'chunked') {
    assert.ok(!fields.has('content-length'))
    const pieces: Buffer[] = []
    for (let at = 0; ; ) {
      const lineEnd = after.indexOf('\r\n', at)
      if (lineEnd < 0) return undefined
      const size = after.toString('latin1', at, lineEnd)
      assert.match(size, /^[0-9a-f]+$/)
      const length = Number.parseInt(size, 16)
      at = lineEnd + 2
      if (length === 0) {
        const tail = after.toString('latin1', at - 2)
        const stop = tail.indexOf('\r\n\r\n')
        if (stop < 0) return undefined
        const trailers = tail.slice(2, stop)
        const rest = after.subarray(at + stop + 2)
        return { ...none, trailers, body: Buffer.concat(pieces), rest }
      }
      if (after.length < at + length + 2) return undefined
      assert.equal(after.toString('latin1', at + length, at + length + 2), '\r\n')
      pieces.push(after.subarray(at, at + length))
      at += length + 2
    }
  }
  const length = fields.get('content-length')
  if (length === undefined)
    return isEnded ? { ...none, body: after, rest: Buffer.alloc(0) } : undefined
  if (after.length < Number(length)) return undefined
  return { ...none, body: after.subarray(0, Number(length)), rest: after.subarray(Number(length)) }
}

export function decoded({ body, fields }: Read): string {
  switch (fields.get('content-encoding')) {
    case 'gzip':
      return gunzipSync(body).toString('latin1')
    case 'br':
      return brotliDecompressSync(body).toString('latin1')
    case 'zstd':
      return zstdDecompressSync(body).toString('latin1')
    default:
      assert.equal(fields.get('content-encoding'), undefined)
      return body.toString('latin1')
  }
}
