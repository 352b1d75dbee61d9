import type { Exchange } from '../../exchange/exchange.ts'
import { HeaderEdit } from '../../exchange/header-edit.ts'
import type { HeaderView } from '../../exchange/header-view.ts'
import type { ResponseDraft } from '../../exchange/response-draft.ts'
import type { Attachments, Part } from '../define.ts'
import { preferredCoding } from './accept-encoding.ts'
import { compress } from './compress.ts'
import type { Algorithm, Compression } from './schema.ts'

const VARY = new HeaderEdit([], [['vary', 'Accept-Encoding']])

/** Headers that describe the original bytes or ranges of them. */
const OF_THE_BYTES = ['accept-ranges', 'content-md5', 'digest', 'content-digest', 'repr-digest']

export function compileCompression([{ value }]: Attachments<Compression>): Part {
  const { algorithms, minBytes, contentTypes } = value
  const isListed = compileTypes(contentTypes)
  const concerns = (draft: ResponseDraft) => isCompressible(draft, isListed, minBytes)
  return {
    response: (exchange, draft) => {
      const isConfirmed = draft.status === 304
      if (isConfirmed) weakenConfirmed(exchange, draft)
      // Caches must know that other clients get different bytes, even if this client gets the
      // original.
      const isVaried = isConfirmed ? mayBeCompressed(draft, isListed) : concerns(draft)
      if (isVaried && !variesByCoding(draft.headers)) draft.change(VARY)
      return undefined
    },
    responseBody: {
      mode: 'stream',
      open: (exchange, flow, draft) => {
        if (draft === undefined || !concerns(draft)) return undefined
        const coding = preferredCoding(exchange.request.headers.get('accept-encoding'), algorithms)
        if (coding === undefined) return undefined
        draft.change(encoded(coding, draft.headers.get('etag')))
        return compress(coding, flow, draft.length < 0)
      },
    },
  }
}

function isCompressible(
  { status, headers, length }: ResponseDraft,
  isListed: (contentType: string) => boolean,
  minBytes: number,
): boolean {
  if (status === 206 || (length >= 0 && length < Math.max(1, minBytes))) return false
  const coding = headers.get('content-encoding')
  if (coding !== undefined && !/^(?:identity)?$/i.test(coding)) return false
  if (headers.get('content-range') !== undefined) return false
  if (/(?:^|[\s,])no-transform(?:$|[\s,])/i.test(headers.get('cache-control') ?? '')) return false
  const type = headers.get('content-type')
  return type !== undefined && isListed(type)
}

function compileTypes(listed: readonly string[]): (contentType: string) => boolean {
  const exact = new Set(listed.filter((type) => !type.includes('*')))
  const wild = listed.flatMap((type): (readonly [string, string])[] => {
    const star = type.indexOf('*')
    return star < 0 ? [] : [[type.slice(0, star), type.slice(star + 1)]]
  })
  return (contentType) => {
    const [type = ''] = contentType.split(';')
    const own = type.trim().toLowerCase()
    if (exact.has(own)) return true
    return wild.some(([start, end]) => own.startsWith(start) && own.endsWith(end))
  }
}

function variesByCoding(headers: HeaderView): boolean {
  return /(?:^|[\s,])(?:accept-encoding|\*)(?:$|[\s,])/i.test(headers.get('vary') ?? '')
}

function encoded(coding: Algorithm, etag: string | undefined): HeaderEdit {
  const isStrong = etag?.startsWith('"') === true
  return new HeaderEdit(
    [...OF_THE_BYTES, 'content-encoding', ...(isStrong ? ['etag'] : [])],
    [['content-encoding', coding], ...(isStrong ? [['etag', `W/${etag}`] as const] : [])],
  )
}

/** RFC 9110 §15.4.5: a 304 has the Vary field of the 200 response, but usually no Content-Type. */
function mayBeCompressed(
  { headers }: ResponseDraft,
  isListed: (contentType: string) => boolean,
): boolean {
  const type = headers.get('content-type')
  return type === undefined || isListed(type)
}

/** The client's copy is compressed, so the response needs the weak ETag. */
function weakenConfirmed({ request }: Exchange, draft: ResponseDraft): void {
  const etag = draft.headers.get('etag')
  const known = request.headers.get('if-none-match')
  if (etag?.startsWith('"') !== true || known?.includes(`W/${etag}`) !== true) return
  draft.change(new HeaderEdit(['etag'], [['etag', `W/${etag}`]]))
}
