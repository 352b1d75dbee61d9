import { replaceSection } from '../generated.ts'
import { type DocumentedKey, readValues } from './read-values.ts'

/** Renders the table of values in a chart's README. */
export function renderReadme(readme: string, values: string): string {
  const keys = [...readValues(values)].sort((one, other) => (one.key < other.key ? -1 : 1))
  const rows = keys.map(
    (key) => `| \`${key.key}\` | ${typeOf(key)} | ${defaultOf(key, keys)} | ${cell(key.meaning)} |`,
  )
  const table = ['| key | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
  return replaceSection(readme, 'values', table)
}

function typeOf({ type, value }: DocumentedKey): string {
  if (type !== undefined) return type
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return 'int'
  return typeof value
}

function defaultOf({ key, value }: DocumentedKey, all: readonly DocumentedKey[]): string {
  const inner = all.filter((other) => other.key.startsWith(`${key}.`)).map((other) => other.key)
  const isWhole =
    isMapping(value) && Object.keys(value).every((name) => inner.includes(`${key}.${name}`))
  if (isWhole && inner.length > 0) return 'see below'
  return value === null ? 'unset' : `\`${cell(JSON.stringify(value))}\``
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
