import { reasonOf } from './reasons.ts'
import { ResponseHead, readResponseHead } from './response-head.ts'

const ANY_SIZE = {
  head: Number.MAX_SAFE_INTEGER,
  target: Number.MAX_SAFE_INTEGER,
  fields: Number.MAX_SAFE_INTEGER,
}

/** Copies a head, so that it stays valid when its connection reads the next one into its own. */
export function copyResponseHead(head: ResponseHead, status: number, method: string): ResponseHead {
  const { text } = head.fields
  const isSame = status === head.status
  const line = isSame ? '' : `HTTP/1.1 ${status} ${reasonOf(status)}`
  const bytes = Buffer.from(isSame ? text : line + text.slice(text.indexOf('\r\n')), 'latin1')
  const copy = new ResponseHead()
  readResponseHead(bytes, 0, bytes.length, ANY_SIZE, method, copy)
  copy.framing = head.framing
  copy.length = head.length
  copy.keepAlive = head.keepAlive
  return copy
}
