import { MAX_VALUE, quote } from './escape.ts'
import type { LogFields, LogForm, LogValue } from './log.ts'
import { Milliseconds } from './time-text.ts'

/** Deeper nested values, for instance in a claim, are represented only by their type. */
const MAX_DEPTH = 8

/** Further members of a list or object are omitted. */
const MAX_MEMBERS = 256

/** Names that every record already has: a field of the same name is renamed. */
const TAKEN: readonly string[] = ['time', 'level', 'scope']

/** Output of JSON.stringify that needs no further escapes. */
const PRINTABLE_ASCII = /^[ -~]*$/

/** `{"time":…,"level":…,"scope":…,…}`, one object per line. */
export function createJsonForm(): LogForm {
  return (time, level, scope, fields) => {
    const text = quickly(fields) ?? renderFields(fields)
    const head = `{"time":"${time}","level":"${level}","scope":${quote(scope)}`
    return text === '{}' ? `${head}}\n` : `${head},${text.slice(1)}\n`
  }
}

/** Uses the engine's JSON.stringify, which is fastest; undefined if the result would differ. */
function quickly(fields: LogFields): string | undefined {
  for (const name of TAKEN) if (fields[name] !== undefined) return undefined
  try {
    const text = JSON.stringify(fields)
    return text.length <= MAX_VALUE && PRINTABLE_ASCII.test(text) ? text : undefined
  } catch {
    // A 64-bit integer, or an object that contains itself.
    return undefined
  }
}

function renderFields(fields: LogFields): string {
  const members = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const free = TAKEN.includes(name) ? `_${name}` : name
      return `${quote(free)}:${renderJson(value)}`
    })
  return `{${members.join(',')}}`
}

/** Like JSON.stringify, but it never throws, shows invisible characters, and is bounded. */
export function renderJson(value: LogValue, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null'
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'object':
      return value === null ? 'null' : renderNested(value, depth)
    default:
      return 'null'
  }
}

function renderNested(value: object, depth: number): string {
  if (value instanceof Milliseconds) return String(value.toJSON())
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '"[…]"' : '"{…}"'
  if (Array.isArray(value)) {
    const elements = value.slice(0, MAX_MEMBERS).map((each) => renderJson(each, depth + 1))
    return `[${elements.join(',')}]`
  }
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .slice(0, MAX_MEMBERS)
    .map(([name, each]) => `${quote(name)}:${renderJson(each as LogValue, depth + 1)}`)
  return `{${members.join(',')}}`
}
