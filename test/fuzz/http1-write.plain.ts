import { HIDDEN } from '../../src/wire/http1/field-names.ts'
import { type Fields, fieldName, lineOf } from '../../src/wire/http1/fields.ts'
import type { RequestHead } from '../../src/wire/http1/head.ts'
import type { ResponseHead } from '../../src/wire/http1/response-head.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../src/wire/http1/write.ts'

/* The reference implementation of src/wire/http1/write.ts: line by line. */

const NEVER_COPIED =
  `connection content-length transfer-encoding expect upgrade te keep-alive proxy-connection
   proxy-authenticate proxy-authorization http2-settings`.split(/\s+/)

export function plainRequestHead(head: RequestHead, out: OutgoingRequest): string {
  const isBad = (text: string) => /[^\x21-\x7e]/.test(text)
  const isSame = head.form === 'origin' && out.path === head.path && out.query === head.query
  if (!isSame && !/^(\*|\/[\x21-\x7e]*)(\?[\x21-\x7e]*)?$/.test(`${out.path}${out.query}`))
    return ''
  if (isBad(out.host) || /[^\t\x20-\x7e\x80-\xff]/.test(out.upgrade)) return ''
  const others = copied(head.fields, out)
  const hasHost = others.some(([name]) => name === 'host')
  const ownHost = out.host !== '' || !hasHost
  const asked = `${head.host}${head.port > 0 ? `:${head.port}` : ''}`
  const lines = [
    `${head.method} ${out.path}${out.query} HTTP/1.1\r\n`,
    ...(ownHost ? [`host: ${out.host || asked}\r\n`] : []),
    ...others.filter(([name]) => name !== 'host' || !ownHost).map(([, line]) => line),
    framing(out),
    out.expectContinue ? 'expect: 100-continue\r\n' : '',
  ]
  if (out.upgrade !== '') lines.push(`connection: upgrade\r\nupgrade: ${out.upgrade}\r\n`)
  else if (head.takesTrailers) lines.push('connection: te\r\nte: trailers\r\n')
  return `${lines.join('')}${out.lines}\r\n`
}

export function plainResponseHead(head: ResponseHead, out: OutgoingResponse): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(out.upgrade)) return ''
  const { status, reason } = head
  const others = copied(head.fields, out).filter(([name]) => name !== 'host')
  const dates = allNames(head.fields).filter((name) => name === 'date')
  const lines = [`HTTP/1.1 ${status} ${reason}\r\n`, ...others.map(([, line]) => line)]
  if (status >= 200 && dates.length === 0) lines.push(out.date)
  if (status >= 200 && status !== 204) lines.push(framing(out))
  const connection = [
    ...(out.upgrade === '' ? [] : ['upgrade']),
    ...(out.connection === '' || status < 200 ? [] : [out.connection]),
  ]
  if (connection.length > 0) lines.push(`connection: ${connection.join(', ')}\r\n`)
  if (out.upgrade !== '') lines.push(`upgrade: ${out.upgrade}\r\n`)
  return `${lines.join('')}${out.lines}\r\n`
}

function framing({ framing, length }: OutgoingRequest | OutgoingResponse): string {
  if (framing === 'chunked') return 'transfer-encoding: chunked\r\n'
  return length < 0 ? '' : `content-length: ${length}\r\n`
}

function allNames(fields: Fields): string[] {
  return Array.from({ length: fields.count }, (_, i) => fieldName(fields, i).toLowerCase())
}

/** Lower-case names and lines of the fields that are copied. */
function copied(fields: Fields, out: OutgoingRequest | OutgoingResponse): [string, string][] {
  const dropped = new Set(out.dropped.names)
  const lines = allNames(fields).map((name, i): [string, string] => {
    return [name, fields.text.slice(lineOf(fields, i), lineOf(fields, i + 1))]
  })
  return lines.filter(([name], i) => {
    if (fields.kinds[i] === HIDDEN || NEVER_COPIED.includes(name)) return false
    if (name === 'trailer' && out.framing !== 'chunked') return false
    return name === 'host' || !dropped.has(name.replaceAll('_', '-'))
  })
}
