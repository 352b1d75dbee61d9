import type { OutgoingCall } from '../exchange/call.ts'
import type { Header } from '../exchange/header-edit.ts'
import { headerBytes, headerText } from '../exchange/header-text.ts'
import { isHeaderValue } from '../exchange/header-value.ts'
import { isFieldText } from '../wire/http1/field-lines.ts'
import { type Fields, fieldName, fieldValue } from '../wire/http1/fields.ts'
import { isToken } from '../wire/http1/message.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Choice } from './cluster.ts'

/** A request that the gateway makes itself, rather than one that it forwards. */
type OwnRequest = Omit<OutgoingCall, 'idleTimeout'>

/** The header lines; undefined if the header lines or the request line would be malformed. */
export function renderLines(request: OwnRequest): string | undefined {
  const { method, path, authority, headers, body } = request
  const isPath = /^\/[!-~]*$/.test(path)
  if (!isToken(method) || !isPath || !isFieldText(authority)) return undefined
  let lines = ''
  for (const [name, value] of headers) {
    if (!isToken(name) || !isHeaderValue(value)) return undefined
    lines += `${name}: ${headerBytes(value)}\r\n`
  }
  if (body.length > 0) lines += `content-length: ${body.length}\r\n`
  return lines
}

/** `lines`: the result of `renderLines`. */
export function sendRequest(
  connection: UpstreamConnection,
  { method, path, authority, body, timeout }: OwnRequest,
  lines: string,
  { host: own, endpoint }: Choice,
  events: ResponseEvents,
): void {
  const host = authority || own || (endpoint.startsWith('unix:') ? 'localhost' : endpoint)
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines}\r\n`
  connection.send(method, head, body.length > 0, timeout, events)
  if (body.length === 0) return
  connection.write(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  connection.end()
}

/**
 * Copies the fields, since the head is reused. Names are lowercase; repeated headers stay apart.
 */
export function headersOf(fields: Fields): readonly Header[] {
  return Array.from({ length: fields.count }, (_, i) => [
    fieldName(fields, i).toLowerCase(),
    headerText(fieldValue(fields, i)),
  ])
}
