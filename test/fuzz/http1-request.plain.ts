import { isEndToEnd } from '../../src/wire/http1/field-names.ts'
import { parseAuthority } from '../../src/wire/http1/host.ts'
import {
  Cursor,
  fail,
  type PlainField,
  type PlainLimits,
  plainConnection,
  plainFields,
  plainFraming,
  Verdict,
  valuesOf,
} from './http1-head.plain.ts'

/**
 * Parses a complete request head at the start of the text. Returns its content or the word of the
 * rejection.
 */
export function plainRequest(text: string, limits: PlainLimits) {
  const cursor = new Cursor(text.slice(0, limits.head))
  try {
    const line = requestLine(cursor, limits.target)
    const fields = plainFields(cursor, limits.fields)
    return { consumed: cursor.at, ...line, ...meaning(line, fields), fields }
  } catch (error) {
    if (!(error instanceof Verdict)) throw error
    return error.word === 'more' && text.length >= limits.head ? 'head-too-large' : error.word
  }
}

function requestLine(cursor: Cursor, longest: number) {
  if (cursor.peek() === '\r') cursor.endOfLine('bad-request-line')
  const method = cursor.take(/[-!#$%&'*+.^_`|~0-9A-Z]*/)
  if (method.length > 32) fail('bad-method')
  if (/[a-z]/.test(cursor.peek())) fail('bad-method')
  if (method === '' && cursor.peek() === ' ') fail('bad-request-line')
  cursor.one(/ /, 'bad-request-line')
  const target = cursor.take(/[\x21\x22\x24-\x7e]*/)
  if (target.length > longest) fail('target-too-long')
  if (target === '' && cursor.peek() === ' ') fail('bad-request-line')
  cursor.one(/ /, cursor.peek() === '\r' ? 'bad-request-line' : 'bad-target')
  if (!target.startsWith('/') && /[^H \n\0]/.test(cursor.peek())) fail('not-http')
  for (const char of 'HTTP/') cursor.one(RegExp(char), 'bad-request-line')
  const major = cursor.one(/[0-9]/, 'bad-request-line')
  cursor.one(/[.]/, 'bad-request-line')
  const minor = cursor.one(/[0-9]/, 'bad-request-line')
  if (major !== '1' || minor > '1') {
    fail(method === 'PRI' && target === '*' ? 'http2-preface' : 'unknown-version')
  }
  cursor.endOfLine('bad-request-line')
  return { method, target, minor: Number(minor) }
}

function meaning(line: { method: string; target: string; minor: number }, fields: PlainField[]) {
  const { method, target, minor } = line
  const hosts = valuesOf(fields, 'host')
  if (hosts.length === 0 && minor === 1) fail('missing-host')
  if (hosts.length > 1) fail('duplicate-host')
  const named = hosts.length === 0 ? { host: '', port: 0 } : parseAuthority(hosts[0] ?? '')
  if (named === undefined) return fail('bad-host')
  const goal = targetOf(method, target)
  const meant = goal.authority ?? named
  const implied = goal.scheme === 'https' ? 443 : goal.scheme === 'http' ? 80 : 0
  const isSame = meant.host === named.host && (meant.port || implied) === (named.port || implied)
  if (hosts.length > 0 && !isSame) fail('host-mismatch')
  const { host, port } = hosts.length > 0 ? named : meant
  const framing = plainFraming(fields, minor)
  const connection = plainConnection(fields, minor, isEndToEnd)
  const expects = valuesOf(fields, 'expect').map((value) => value.toLowerCase())
  if (expects.length > 1 || (expects[0] ?? '100-continue') !== '100-continue') {
    fail('unknown-expectation')
  }
  const takesTrailers = valuesOf(fields, 'te')
    .flatMap((value) => value.split(','))
    .some((coding) => /^[ \t]*trailers[ \t]*$/i.test(coding))
  const expectContinue = expects.length === 1 && minor === 1 && framing.framing !== 'none'
  const { authority: _, ...rest } = goal
  return { ...rest, host, port, ...framing, ...connection, expectContinue, takesTrailers }
}

function targetOf(method: string, target: string) {
  const [, path = '', query = ''] = /^([^?]*)(.*)$/.exec(target) ?? []
  const none = undefined
  if (method === 'CONNECT') {
    const authority = parseAuthority(target)
    if (authority === undefined || authority.port === 0) return fail('bad-target')
    return { form: 'authority', scheme: '', path: '', query, authority }
  }
  if (target.startsWith('/')) return { form: 'origin', scheme: '', path, query, authority: none }
  if (target === '*' && method === 'OPTIONS') {
    return { form: 'asterisk', scheme: '', path: '*', query: '', authority: none }
  }
  const [, scheme = '', text = '', rest = ''] = /^(https?):\/\/([^/]*)(.*)$/i.exec(path) ?? []
  const authority = parseAuthority(text)
  if (scheme === '' || authority === undefined) return fail('bad-target')
  const isServer = method === 'OPTIONS' && rest === '' && query === ''
  return {
    form: isServer ? 'asterisk' : 'absolute',
    scheme: scheme.toLowerCase(),
    path: isServer ? '*' : rest || '/',
    query,
    authority,
  }
}
