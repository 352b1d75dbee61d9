import { quote } from './escape.ts'
import type { LogForm, LogValue } from './log.ts'

const REMEMBERED = 1000

/** What is nested deeper, for instance in a claim, is told by its kind only. */
const DEEPEST = 8

/** Further members of a list or object are left out. */
const WIDEST = 256

/** Names that a record has already: a field of the same name moves aside. */
const TAKEN: readonly string[] = ['time', 'level', 'scope']

/** `{"time":…,"level":…,"scope":…,…}`, one object a line. */
export function createJsonForm(): LogForm {
  const names = new Map<string, string>()
  const remember = (name: string) => {
    const quoted = quote(TAKEN.includes(name) ? `_${name}` : name)
    if (names.size < REMEMBERED) names.set(name, quoted)
    return quoted
  }
  return (time, level, scope, fields) => {
    let line = `{"time":"${time}","level":"${level}","scope":${quote(scope)}`
    for (const name in fields) {
      const value = fields[name]
      if (value === undefined) continue
      line += `,${names.get(name) ?? remember(name)}:${typeof value === 'string' ? quote(value) : renderJson(value)}`
    }
    return `${line}}\n`
  }
}

/** As JSON.stringify, but it never throws, and what JSON has no word for is a string. */
export function renderJson(value: LogValue, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : `"${value}"`
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'object':
      return value === null ? 'null' : renderNested(value, depth)
    default:
      return `"${typeof value}"`
  }
}

function renderNested(value: object, depth: number): string {
  if (depth >= DEEPEST) return Array.isArray(value) ? '"[…]"' : '"{…}"'
  if (Array.isArray(value)) {
    const elements = value.slice(0, WIDEST).map((each) => renderJson(each, depth + 1))
    return `[${elements.join(',')}]`
  }
  const members = Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .slice(0, WIDEST)
    .map(([name, each]) => `${quote(name)}:${renderJson(each as LogValue, depth + 1)}`)
  return `{${members.join(',')}}`
}
