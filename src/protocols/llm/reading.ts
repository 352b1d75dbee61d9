import { isCrowded } from '../long-json.ts'
import type { Read } from './dialect.ts'
import { invalidRequest, type LlmError } from './error.ts'
import { decodeUtf8, isObject, type JsonProblem, parseJson, parseJsonText } from './json.ts'

/**
 * A malformed body: thrown wherever it is detected, and caught only by `reading`. Bodies are trees
 * of fifty kinds of node, and a result at each would hide the mapping.
 */
class Rejected {
  readonly error: LlmError

  constructor(error: LlmError) {
    this.error = error
  }
}

export function reading<T>(read: () => T): Read<T> {
  try {
    return { ok: true, value: read() }
  } catch (thrown) {
    if (thrown instanceof Rejected) return { ok: false, error: thrown.error }
    throw thrown
  }
}

export function reject(message: string, param?: string, code?: string): never {
  throw new Rejected(invalidRequest(message, param, code))
}

export function rejectWith(error: LlmError): never {
  throw new Rejected(error)
}

export type Fields = Readonly<Record<string, unknown>>

/** Reads a client's request as a JSON object. */
export function readBody(bytes: Uint8Array): Fields {
  const { value, problem } = parseJson(bytes)
  if (problem !== undefined) reject(PROBLEMS[problem])
  if (!isObject(value)) reject('The body must be a JSON object.')
  return value
}

const PROBLEMS: Readonly<Record<JsonProblem, string>> = {
  invalid: 'The body is not valid JSON.',
  deep: 'The body is nested too deeply.',
  duplicate: 'The body has a duplicate member.',
}

/** Reads a provider's response; undefined if it is not an object or would block other requests. */
export function readProviderBody(bytes: Uint8Array): Fields | undefined {
  const value = readProviderValue(bytes)
  return isObject(value) ? value : undefined
}

/** The same for any JSON. */
export function readProviderValue(bytes: Uint8Array): unknown {
  return isLegible(bytes) ? parseJson(bytes).value : undefined
}

/** The max bytes of a response to read at once, and its max values as a multiple of an event's. */
export const MAX_WHOLE_RESPONSE: number = 8 << 20
const WHOLE_SCALE = 8

function isLegible(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_WHOLE_RESPONSE) return false
  const { buffer, byteOffset, byteLength } = bytes
  // All characters that delimit values are single-byte.
  return !isCrowded(Buffer.from(buffer, byteOffset, byteLength).toString('latin1'), WHOLE_SCALE)
}

/** The same for a response that is passed through: only its metadata is read. */
export function glanceAtBody(bytes: Uint8Array): Fields | undefined {
  const text = isLegible(bytes) ? decodeUtf8(bytes) : undefined
  const { value } = text === undefined ? {} : parseJsonText(text)
  return isObject(value) ? value : undefined
}

/*
 * Fields of a request: absent and null are the same, as for the vendors; another type is an error
 * with the name of the field.
 */

export function optionalString(fields: Fields, name: string, path = name): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : reject(`\`${path}\` must be a string.`, path)
}

export function requiredString(fields: Fields, name: string, path = name): string {
  return optionalString(fields, name, path) ?? reject(`\`${path}\` is required.`, path)
}

export function optionalNumber(fields: Fields, name: string, path = name): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  return typeof value === 'number' ? value : reject(`\`${path}\` must be a number.`, path)
}

export function optionalBoolean(fields: Fields, name: string, path = name): boolean | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  return typeof value === 'boolean' ? value : reject(`\`${path}\` must be true or false.`, path)
}

export function optionalObject(fields: Fields, name: string, path = name): Fields | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  return isObject(value) ? value : reject(`\`${path}\` must be an object.`, path)
}

export function optionalList(
  fields: Fields,
  name: string,
  path = name,
): readonly unknown[] | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  return Array.isArray(value) ? value : reject(`\`${path}\` must be an array.`, path)
}

export function object(value: unknown, path: string): Fields {
  return isObject(value) ? value : reject(`\`${path}\` must be an object.`, path)
}

/* Fields of a provider's response: a malformed field is treated as absent. */

export function str(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function obj(value: unknown): Fields {
  return isObject(value) ? value : NO_FIELDS
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

const NO_FIELDS: Fields = {}

/** Removes undefined members, so that they are not written. */
export function defined<T extends Record<string, unknown>>(value: T): T {
  const kept: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) if (member !== undefined) kept[name] = member
  return kept as T
}
