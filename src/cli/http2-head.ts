import type { RequestHead } from '../wire/http1/head.ts'
import type { HeadLimits } from '../wire/http1/message.ts'
import { reject } from '../wire/http1/rejections.ts'
import { FieldBlock } from '../wire/http2/field-block.ts'
import { HpackDecoder } from '../wire/http2/hpack-decoder.ts'
import { readHttp2Request } from '../wire/http2/request-head.ts'

type Field = readonly [name: string, value: string]

export interface WrittenHttp2 {
  readonly method: string
  readonly target: string
  readonly scheme: 'http' | 'https'
  /** Includes `Host`, which HTTP/2 clients send as the authority. */
  readonly headers: readonly Field[]
}

/** Larger than any limit, so that the limits take effect. */
const MAX_TABLE = 4_096

/** Reads a request as sent over HTTP/2, with the gateway's own reader. Returns 1 or a rejection. */
export function readHttp2Head(
  written: WrittenHttp2,
  limits: HeadLimits,
  head: RequestHead,
): number {
  const bytes = encode(fieldsOf(written))
  const block = new FieldBlock()
  if (!new HpackDecoder(limits.head + MAX_TABLE).read(bytes, 0, bytes.length, block)) {
    return reject('bad-header-name')
  }
  const hasBody = written.headers.some(([name]) => name.toLowerCase() === 'content-length')
  return readHttp2Request(block, !hasBody, limits, head)
}

function fieldsOf({ method, target, scheme, headers }: WrittenHttp2): readonly Field[] {
  const hosts = headers.filter(([name]) => name.toLowerCase() === 'host')
  const others = headers.filter(([name]) => name.toLowerCase() !== 'host')
  // RFC 9113 §8.5: a tunnel only has an authority.
  const isTunnel = method === 'CONNECT'
  const [first, ...more] = hosts
  const authority = isTunnel ? target : first?.[1]
  return [
    [':method', method],
    ...(isTunnel ? [] : ([[':scheme', scheme]] as const)),
    ...(authority === undefined ? [] : ([[':authority', authority]] as const)),
    ...(isTunnel ? [] : ([[':path', target]] as const)),
    // Clients send names in lower case.
    ...[...more, ...others].map(([name, value]) => [name.toLowerCase(), value] as const),
  ]
}

/** RFC 7541 §6.2.2: literals without indexing. */
function encode(fields: readonly Field[]): Buffer {
  const parts = fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)])
  return Buffer.concat(parts)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([length(bytes.length), bytes])
}

/** RFC 7541 §5.1, with a 7-bit prefix. */
function length(value: number): Buffer {
  if (value < 127) return Buffer.of(value)
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.of(...bytes, rest)
}
