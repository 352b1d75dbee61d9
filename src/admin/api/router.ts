import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import { type Authenticate, hasRole, isForeign } from '../callers.ts'
import { isOfLogin, type Login } from '../login.ts'
import type { RequestHandler } from '../servers.ts'
import { type ApiReply, type Call, type Endpoint, GUARDING, problem } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { readJsonBody, readTextBody } from './read-body.ts'

/** Serves the endpoints, and reports what is wrong with every other request. */
export function routeApi(
  endpoints: readonly Endpoint[],
  deps: ApiDeps,
  authenticate: Authenticate,
  login?: Login,
): RequestHandler {
  return async (request, response) => {
    if (login !== undefined && isOfLogin(request)) return login.respond(request, response)
    const reply = await respond(endpoints, deps, authenticate, request, response, login)
    if (reply.isWritten !== true) write(request, response, reply)
  }
}

async function respond(
  endpoints: readonly Endpoint[],
  deps: ApiDeps,
  authenticate: Authenticate,
  request: IncomingMessage,
  response: ServerResponse,
  login: Login | undefined,
): Promise<ApiReply> {
  if (isForeign(request)) {
    return problem(403, 'cross-origin requests are rejected: use the API from its own origin')
  }
  const caller = await authenticate(request)
  if (caller === undefined) {
    const detail =
      login === undefined
        ? 'send the token that the gateway printed at startup: Authorization: Bearer …'
        : `sign in at ${login.path}, or send the token of the gateway: Authorization: Bearer …`
    const more = login === undefined ? {} : { login: login.path }
    return problem(401, detail, more, { 'www-authenticate': 'Bearer realm="portcullis"' })
  }
  if (caller.cookies !== undefined && caller.cookies.length > 0) {
    response.setHeader('set-cookie', caller.cookies)
  }
  const [path = '', search = ''] = splitOnce(request.url ?? '/')
  const found = endpoints.flatMap((endpoint) => {
    const parts = partsOf(endpoint.path, path)
    return parts === undefined ? [] : [{ endpoint, parts }]
  })
  if (found.length === 0) {
    return problem(404, `unknown path ${path}; see /api/openapi.json for the available endpoints`)
  }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  // If two paths match, the one with fewer parameters wins: /tail is not an id.
  const [first] = found
    .filter(({ endpoint }) => endpoint.method === method)
    .sort((a, b) => Object.keys(a.parts).length - Object.keys(b.parts).length)
  if (first === undefined) {
    const allow = [...new Set(found.map(({ endpoint }) => endpoint.method))].join(', ')
    return problem(405, `method not allowed; available: ${allow}`, {}, { allow })
  }
  const { endpoint, parts } = first
  if (Object.values(parts).some((part) => part.includes('\0'))) return problem(400, NO_NUL)
  if (!hasRole(caller, endpoint.role)) {
    const has = caller.role === 'none' ? 'has no role' : `has the role ${caller.role}`
    return problem(403, `this requires the role ${endpoint.role}; ${caller.name} ${has}`)
  }
  if (endpoint.isEarly !== true && !deps.configuration.isKnown) {
    const detail = 'the stored configuration has not been read from the database yet'
    return problem(503, detail, {}, { 'retry-after': '1' })
  }
  const query = queryOf(endpoint, search)
  if ('status' in query) return query
  const body = await bodyOf(endpoint, request)
  if ('status' in body) return body
  const call: Call = { request, response, caller, parts, query: query.value, body: body.value }
  const reply = await endpoint.run(call, deps)
  if (endpoint.method !== 'GET' && endpoint.role !== 'viewer') audit(call, reply, deps)
  reply.afterAudit?.()
  return reply
}

/** Logs who changed what, including failed attempts; the history contains the values. */
function audit({ request, caller }: Call, { status, audited = {} }: ApiReply, { log }: ApiDeps) {
  const [path = ''] = splitOnce(request.url ?? '/')
  const { name, role } = caller
  log.audit({ caller: name, role, method: request.method ?? '', path, status, ...audited })
}

/** No name contains NUL, and PostgreSQL text cannot contain it. */
const NO_NUL = 'a name must not contain a NUL character'

function splitOnce(url: string): readonly string[] {
  const at = url.indexOf('?')
  return at === -1 ? [url] : [url.slice(0, at), url.slice(at + 1)]
}

function partsOf(template: string, path: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [template.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const parts: Record<string, string> = {}
  for (const [index, step] of wanted.entries()) {
    const text = given[index] as string
    if (!step.startsWith('{')) {
      if (step !== text) return undefined
      continue
    }
    try {
      parts[step.slice(1, -1)] = decodeURIComponent(text)
    } catch {
      return undefined
    }
    if (text === '') return undefined
  }
  return parts
}

type Read = { readonly value: Readonly<Record<string, unknown>> } | ApiReply

function queryOf({ query: schema }: Endpoint, search: string): Read {
  const given: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(search)) {
    if (Object.hasOwn(given, name)) return problem(400, `duplicate parameter \`${name}\``)
    if (schema === undefined || !Object.hasOwn(schema.shape, name)) {
      const names = Object.keys(schema?.shape ?? {}).join(', ')
      const available = names === '' ? 'this endpoint has no parameters' : `available: ${names}`
      return problem(400, `unknown parameter \`${name}\`; ${available}`)
    }
    if (value.includes('\0')) return problem(400, NO_NUL)
    given[name] = value
  }
  if (schema === undefined) return { value: {} }
  const parsed = schema.safeParse(given)
  return parsed.success ? { value: parsed.data } : problem(400, wordsOf(parsed.error))
}

async function bodyOf(
  { body: schema, bodyType }: Endpoint,
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | ApiReply> {
  if (schema === undefined) return { value: undefined }
  const read =
    bodyType === undefined ? await readJsonBody(request) : await readTextBody(request, bodyType)
  if ('status' in read) return read
  const parsed = schema.safeParse(read.value)
  return parsed.success ? { value: parsed.data } : problem(400, wordsOf(parsed.error))
}

function wordsOf({ issues }: z.ZodError): string {
  const words = issues.slice(0, 8).map(({ path, message }) => {
    const at = z.core.toDotPath(path)
    return at === '' ? message : `${at}: ${message}`
  })
  return words.join('; ')
}

/** Indentation of thousands of resources would be longer than they are. */
const MAX_INDENTED = 256 * 1024

function jsonOf(body: unknown): string {
  const text = JSON.stringify(body)
  return `${text.length > MAX_INDENTED ? text : JSON.stringify(body, undefined, 2)}\n`
}

function write(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers = {}, body }: ApiReply,
): void {
  const text = body === undefined || typeof body === 'string' ? (body ?? '') : jsonOf(body)
  response.writeHead(status, {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...GUARDING,
    ...headers,
    'content-length': Buffer.byteLength(text),
    // Unread bytes of the body would be parsed as the next request.
    ...(request.complete ? {} : { connection: 'close' }),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}
