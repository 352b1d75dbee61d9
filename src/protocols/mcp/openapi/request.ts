import { exactJson } from '../../../cel/values/json-exact.ts'
import type { Header } from '../../../exchange/header-edit.ts'
import { isJsonType, type Operation, type Parameter } from './operations.ts'

/** The API request for a call. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

export type Arguments = Readonly<Record<string, unknown>>

const NO_BODY = new Uint8Array()

/** Returns a string if an argument cannot be sent. */
export function requestFor(operation: Operation, given: Arguments): ApiRequest | string {
  const { parameters, body, method } = operation
  const known = new Set(parameters.map(({ argument }) => argument))
  if (body !== undefined) known.add(body.argument)
  const unknown = Object.keys(given).find((name) => !known.has(name))
  if (unknown !== undefined) return `unknown argument: ${unknown}`
  let { path } = operation
  const query: string[] = []
  const headers: Header[] = []
  for (const parameter of parameters) {
    const value = Object.hasOwn(given, parameter.argument) ? given[parameter.argument] : undefined
    if (value === undefined || value === null) {
      if (parameter.isRequired) return `missing argument: ${parameter.argument}`
      continue
    }
    const problem = `invalid argument: ${parameter.argument}`
    switch (parameter.in) {
      case 'path': {
        const text = simple(parameter, value, encode)
        if (text === undefined || text === '') return problem
        path = path.replaceAll(`{${parameter.name}}`, () => text)
        break
      }
      case 'query': {
        const pairs = queryPairs(parameter, value)
        if (pairs === undefined) return problem
        query.push(...pairs)
        break
      }
      case 'header': {
        const text = simple(parameter, value, (own) => own)
        if (text === undefined || !/^[\x20-\x7e]*$/.test(text)) return problem
        headers.push([parameter.name.toLowerCase(), text.trim()])
        break
      }
    }
  }
  // An argument must not lead to an operation other than the one that rules allowed.
  if (path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    return 'invalid argument: it would change the path'
  }
  const content = body === undefined ? undefined : bodyFor(operation, given)
  if (typeof content === 'string') return content
  if (content !== undefined && body !== undefined) headers.push(['content-type', body.contentType])
  const search = query.length === 0 ? '' : `?${query.join('&')}`
  return { method, path: `${path}${search}`, headers, body: content ?? NO_BODY }
}

/** Encodes every character with a meaning in a path or a query. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (own) => {
    return `%${own.charCodeAt(0).toString(16).toUpperCase()}`
  })
}

function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') {
    return String(value)
  }
  return undefined
}

/** RFC 6570 §3.2.2: `a,b` and `k,v`, or `k=v` if it explodes. */
function simple(
  { explode, isJson }: Parameter,
  value: unknown,
  write: (text: string) => string,
): string | undefined {
  if (isJson) return write(exactJson(value))
  const own = scalar(value)
  if (own !== undefined) return write(own)
  const parts = Array.isArray(value) ? value.map((item) => [item]) : Object.entries(value as object)
  const texts: string[] = []
  for (const part of parts) {
    const all = part.map(scalar)
    if (all.includes(undefined)) return undefined
    texts.push(all.map((text) => write(text ?? '')).join(explode ? '=' : ','))
  }
  return texts.join(',')
}

const SEPARATORS: Readonly<Record<string, string>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
}

function queryPairs(parameter: Parameter, value: unknown): readonly string[] | undefined {
  const { name, style, explode, isJson } = parameter
  const pair = (key: string, text: string) => `${encode(key)}=${encode(text)}`
  if (isJson) return [pair(name, exactJson(value))]
  const own = scalar(value)
  if (own !== undefined) return style === 'deepObject' ? undefined : [pair(name, own)]
  if (Array.isArray(value)) {
    const items = value.map(scalar)
    if (items.includes(undefined) || style === 'deepObject') return undefined
    if (explode) return items.map((item) => pair(name, item ?? ''))
    const joined = items.map((item) => encode(item ?? '')).join(SEPARATORS[style])
    return [`${encode(name)}=${joined}`]
  }
  const members = Object.entries(value as object).map(([key, member]) => [key, scalar(member)])
  if (members.some(([, text]) => text === undefined)) return undefined
  const known = members as [string, string][]
  if (style === 'deepObject') return known.map(([key, text]) => pair(`${name}[${key}]`, text))
  if (style !== 'form') return undefined
  if (explode) return known.map(([key, text]) => pair(key, text))
  return [`${encode(name)}=${known.flat().map(encode).join(',')}`]
}

/** Returns undefined if there is no body, or a string that describes the problem. */
function bodyFor(operation: Operation, given: Arguments): Uint8Array | string | undefined {
  const { body } = operation
  if (body === undefined) return undefined
  const { argument, contentType, isRequired } = body
  const value = Object.hasOwn(given, argument) ? given[argument] : undefined
  if (value === undefined) return isRequired ? `missing argument: ${argument}` : undefined
  const bytes = (text: string) => new TextEncoder().encode(text)
  if (isJsonType(contentType)) return bytes(exactJson(value))
  const problem = `invalid argument: ${argument}`
  if (contentType.startsWith('text/')) return typeof value === 'string' ? bytes(value) : problem
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return problem
  const form = new URLSearchParams()
  for (const [name, member] of Object.entries(value)) {
    for (const item of Array.isArray(member) ? member : [member]) {
      form.append(name, scalar(item) ?? exactJson(item))
    }
  }
  return bytes(form.toString())
}
