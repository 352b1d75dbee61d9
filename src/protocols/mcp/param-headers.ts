import type { HeaderReader } from '../../exchange/header-view.ts'
import { CODES, type McpError } from './errors.ts'
import { decodeHeaderValue } from './header-value.ts'
import { isObject } from './message.ts'

/*
 * A tool may declare that an argument is repeated in a header (`x-mcp-header`, 2026-07-28). Rules
 * evaluate the argument, while the server may use the header.
 */

const PREFIX = 'mcp-param-'

/** Returns the headers of a request that repeat arguments. */
export function paramHeaders(headers: HeaderReader): readonly string[] {
  const found: string[] = []
  for (const name of headers.keys()) if (name.startsWith(PREFIX)) found.push(name)
  return found
}

/**
 * `item` is the tool as its server lists it. A header that the tool does not declare matches
 * nothing in the body.
 */
export function paramProblem(
  headers: HeaderReader,
  item: string,
  given: unknown,
): McpError | undefined {
  const tool: unknown = JSON.parse(item)
  const declared = new Map<string, unknown[]>()
  if (isObject(tool)) declare(tool.inputSchema, given, declared, 0)
  for (const name of paramHeaders(headers)) {
    const values = declared.get(name) ?? []
    const said = decodeHeaderValue(headers.get(name)?.trim() ?? '')
    // Two declarations of one header count as none: it is unknown which of them a server reads.
    if (said === undefined || values.length !== 1 || !isSame(values[0], said)) return mismatch(name)
  }
  return undefined
}

export function mismatch(header: string): McpError {
  const message = `Bad Request: the ${header} header does not match the body`
  return { code: CODES.headerMismatch, message, data: { mismatch: header } }
}

const MAX_DEPTH = 16

/** Collects by header the argument that it repeats; undefined if the argument is absent. */
function declare(
  schema: unknown,
  given: unknown,
  declared: Map<string, unknown[]>,
  depth: number,
): void {
  if (!isObject(schema) || depth > MAX_DEPTH) return
  const { 'x-mcp-header': header, properties } = schema
  if (typeof header === 'string') {
    const name = PREFIX + header.toLowerCase()
    declared.set(name, [...(declared.get(name) ?? []), given])
  }
  if (!isObject(properties)) return
  for (const [key, child] of Object.entries(properties)) {
    const own = isObject(given) && Object.hasOwn(given, key) ? given[key] : undefined
    declare(child, own, declared, depth + 1)
  }
}

function isSame(value: unknown, said: string): boolean {
  if (typeof value === 'string') return value === said
  if (typeof value === 'boolean') return String(value) === said
  if (typeof value !== 'number' && typeof value !== 'bigint') return false
  return (
    /^-?\d+(?:\.\d+)?$/.test(said) && (String(value) === said || Number(said) === Number(value))
  )
}
