import { isOfCaller, schemeParameters } from './credentials.ts'
import { type DocumentObject, isDocumentObject as isObject } from './schema.ts'
import { decodeStep, definitionsFor, toJsonSchema } from './schemas.ts'

/** How one argument becomes part of a request. */
export interface Parameter {
  /** The client's name for it. */
  readonly argument: string
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly isRequired: boolean
  readonly style: string
  readonly explode: boolean
  /** True if its value is written as JSON. */
  readonly isJson: boolean
}

export interface RequestBody {
  readonly argument: string
  readonly isRequired: boolean
  readonly contentType: string
}

/** An operation of an API, as a tool. */
export interface Operation {
  readonly tool: DocumentObject & { readonly name: string }
  readonly method: string
  /** Prefixed with the path of its server, and with `{name}` placeholders. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const
const MAX_OPERATIONS = 2_000
const MAX_NAME = 64

/** Headers that an operation must not set; only the gateway may. */
const NOT_ARGUMENTS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns the supported operations; `base` is the path of the API, if configured. */
export function operationsOf(
  document: DocumentObject,
  base: string | undefined,
): readonly Operation[] {
  const operations: Operation[] = []
  const names = new Set<string>()
  const { paths } = document
  if (!isObject(paths)) return operations
  const schemes = schemeParameters(document)
  for (const [path, written] of Object.entries(paths)) {
    const item = resolve(document, written)
    if (!path.startsWith('/') || item === undefined) continue
    for (const method of METHODS) {
      const operation = isObject(item[method]) ? item[method] : undefined
      if (operation === undefined || operations.length === MAX_OPERATIONS) continue
      const made = operationOf(document, { base, path, item, method, operation, schemes })
      if (made === undefined) continue
      const name = uniqueName(made.tool.name, names)
      operations.push({ ...made, tool: { ...made.tool, name } })
    }
  }
  return operations
}

interface Place {
  readonly base: string | undefined
  readonly path: string
  readonly item: DocumentObject
  readonly method: string
  readonly operation: DocumentObject
  /** Parameters that the document declares as API keys. */
  readonly schemes: ReadonlySet<string>
}

/** Returns undefined if it requires something unsupported, so it is not offered. */
function operationOf(document: DocumentObject, place: Place): Operation | undefined {
  const { base, path, item, method, operation, schemes } = place
  const written = parametersOf(document, item, operation, schemes)
  const body = bodyOf(document, operation)
  if (written === undefined || body === 'unsupported') return undefined
  const taken = new Set(body === undefined ? [] : [BODY])
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  const parameters: Parameter[] = []
  for (const own of written) {
    const argument = taken.has(own.name) ? `${own.name}_${own.in}` : own.name
    if (taken.has(argument)) return undefined
    taken.add(argument)
    const { schema, description, ...parameter } = own
    parameters.push({ ...parameter, argument })
    properties[argument] = described(toJsonSchema(schema), description)
    if (own.isRequired) required.push(argument)
  }
  if (body !== undefined) {
    properties[BODY] = described(toJsonSchema(body.schema), body.description)
    if (body.isRequired) required.push(BODY)
  }
  const named = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name)
  const known = new Set(parameters.flatMap((own) => (own.in === 'path' ? [own.name] : [])))
  if (!named.every((name) => known.has(name ?? ''))) return undefined
  const definitions = definitionsFor(document, properties)
  if (definitions === undefined) return undefined
  const inputSchema = {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  }
  const { operationId, summary, description } = operation
  const about = [summary, description].filter((text) => typeof text === 'string').join('\n\n')
  const isRead = method === 'get' || method === 'head' || method === 'options'
  return {
    tool: {
      name: legalName(typeof operationId === 'string' ? operationId : `${method}${path}`),
      description: about === '' ? `${method.toUpperCase()} ${path}` : about,
      inputSchema,
      annotations: { readOnlyHint: isRead, ...(method === 'delete' && { destructiveHint: true }) },
    },
    method: method.toUpperCase(),
    path: `${base ?? serverPath(document, item, operation)}${path}`,
    parameters,
    body: body && { argument: BODY, isRequired: body.isRequired, contentType: body.contentType },
  }
}

const BODY = 'body'

interface WrittenParameter extends Omit<Parameter, 'argument'> {
  readonly schema: unknown
  readonly description: unknown
}

/** Returns the parameters of the operation, and those of its path that it does not override. */
function parametersOf(
  document: DocumentObject,
  item: DocumentObject,
  operation: DocumentObject,
  schemes: ReadonlySet<string>,
): readonly WrittenParameter[] | undefined {
  const found = new Map<string, WrittenParameter>()
  for (const list of [item['parameters'], operation['parameters']]) {
    if (list === undefined) continue
    if (!Array.isArray(list)) return undefined
    for (const written of list) {
      const own = resolve(document, written)
      const read = own === undefined ? 'unsupported' : parameterOf(own, schemes)
      if (read === 'unsupported') return undefined
      if (read !== 'ignored') found.set(`${read.in} ${read.name}`, read)
    }
  }
  return [...found.values()]
}

const STYLES = {
  path: ['simple'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
} as const

function parameterOf(
  own: DocumentObject,
  schemes: ReadonlySet<string>,
): WrittenParameter | 'ignored' | 'unsupported' {
  const { name, in: place, required, schema, content, description } = own
  if (typeof name !== 'string' || name === '') return 'unsupported'
  const isRequired = required === true || place === 'path'
  if (place === 'cookie') return isRequired ? 'unsupported' : 'ignored'
  if (place !== 'path' && place !== 'query' && place !== 'header') return 'unsupported'
  if (place !== 'path' && isOfCaller(place, name, schemes)) return 'ignored'
  if (place === 'header') {
    // According to the specification, these are not parameters, in any spelling.
    if (NOT_ARGUMENTS.has(name.toLowerCase())) return isRequired ? 'unsupported' : 'ignored'
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'unsupported'
  }
  const style = own['style'] ?? (place === 'query' ? 'form' : 'simple')
  if (!(STYLES[place] as readonly unknown[]).includes(style)) return 'unsupported'
  const explode = typeof own['explode'] === 'boolean' ? own['explode'] : style === 'form'
  const [media] = isObject(content) ? Object.values(content) : []
  const isJson = content !== undefined
  if (isJson && (!isObject(media) || !isJsonType(Object.keys(content as object)[0] ?? ''))) {
    return 'unsupported'
  }
  const given = isObject(media) ? media['schema'] : schema
  return {
    ...{ name, in: place, isRequired, style: String(style), explode, isJson },
    schema: given ?? {},
    description,
  }
}

interface WrittenBody extends Omit<RequestBody, 'argument'> {
  readonly schema: unknown
  readonly description: unknown
}

function bodyOf(
  document: DocumentObject,
  operation: DocumentObject,
): WrittenBody | undefined | 'unsupported' {
  if (operation['requestBody'] === undefined) return undefined
  const body = resolve(document, operation['requestBody'])
  const content = body?.['content']
  if (body === undefined || !isObject(content)) return 'unsupported'
  const isRequired = body['required'] === true
  const types = Object.keys(content)
  const type =
    types.find(isJsonType) ??
    types.find((one) => one.startsWith('application/x-www-form-urlencoded')) ??
    types.find((one) => one.startsWith('text/'))
  if (type === undefined) return isRequired ? 'unsupported' : undefined
  const media = content[type]
  const schema = isObject(media) ? media['schema'] : undefined
  const contentType = /^[\x21-\x7e]+(?:; ?[\x21-\x7e]+)*$/.test(type) ? type : 'application/json'
  const usual = type.startsWith('text/') ? { type: 'string' } : {}
  return { isRequired, contentType, schema: schema ?? usual, description: body['description'] }
}

export function isJsonType(type: string): boolean {
  const [essence = ''] = type.split(';')
  return /^application\/(?:[\w.+-]+\+)?json$/i.test(essence.trim())
}

/** Returns only the path: the location of the API is configured. */
function serverPath(...objects: readonly DocumentObject[]): string {
  for (const { servers } of [...objects].reverse()) {
    const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
    if (!isObject(first) || typeof first['url'] !== 'string') continue
    const variables = isObject(first['variables']) ? first['variables'] : {}
    const url = first['url'].replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
      const variable = variables[name]
      return isObject(variable) ? String(variable['default'] ?? '') : ''
    })
    if (!URL.canParse(url, 'http://server.invalid')) continue
    return new URL(url, 'http://server.invalid').pathname.replace(/\/+$/, '')
  }
  return ''
}

/** Resolves a reference within the document. */
function resolve(document: DocumentObject, written: unknown): DocumentObject | undefined {
  let at = written
  for (let step = 0; step < 32; step++) {
    if (!isObject(at)) return undefined
    const ref = at['$ref']
    if (ref === undefined) return at
    if (typeof ref !== 'string' || !ref.startsWith('#/')) return undefined
    at = lookUp(document, ref)
  }
  return undefined
}

function lookUp(document: DocumentObject, ref: string): unknown {
  let at: unknown = document
  for (const part of ref.slice(2).split('/')) {
    const name = decodeStep(part)
    if (name === undefined) return undefined
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at
}

function described(schema: unknown, description: unknown): unknown {
  if (typeof description !== 'string' || !isObject(schema)) return schema
  return { ...schema, description: schema['description'] ?? description }
}

function legalName(text: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '')
  return (name === '' ? 'operation' : name).slice(0, MAX_NAME)
}

function uniqueName(name: string, names: Set<string>): string {
  let unique = name
  for (let count = 2; names.has(unique); count++) {
    const suffix = `_${count}`
    unique = `${name.slice(0, MAX_NAME - suffix.length)}${suffix}`
  }
  names.add(unique)
  return unique
}
