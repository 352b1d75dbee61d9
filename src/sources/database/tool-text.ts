import { dirname, isAbsolute, resolve } from 'node:path'
import type * as z from 'zod'
import { findAnnotated } from '../../policies/schema.ts'
import { fileSchema } from '../file/schema.ts'
import type { ConfigurationView } from './configuration.ts'
import type { MergedResource } from './merge.ts'
import { RESOURCE_KINDS, type ResourceKind, schemaOf, shapeOf } from './resource-kinds.ts'

/**
 * The whole configuration as a file that works in another folder: variables are expanded, and the
 * paths of files are absolute. The text contains secrets.
 */
export function textForTools({ baseline, merged }: ConfigurationView): string {
  const folder = dirname(resolve(baseline.file))
  const byKind = Map.groupBy(merged.resources, ({ kind }) => kind)
  const { value } = baseline
  const keys = new Set([...Object.keys(value as object), ...byKind.keys()])
  const sections: string[] = []
  for (const key of keys) {
    const kind = RESOURCE_KINDS.find((one) => one === key)
    const own = kind === undefined ? [] : (byKind.get(kind) ?? [])
    // Edits may have deleted all resources of a kind that the file has.
    if (kind !== undefined && own.length === 0) continue
    const text =
      kind === undefined
        ? textOf({ [key]: (value as Record<string, unknown>)[key] }, fileSchema, folder, key)
        : textOfKind(kind, own, folder)
    if (text !== undefined) sections.push(`${JSON.stringify(key)}: ${text}`)
  }
  return sections.length === 0 ? '{}' : `{\n  ${sections.join(',\n  ')}\n}`
}

function textOfKind(kind: ResourceKind, own: readonly MergedResource[], folder: string): string {
  const shape = shapeOf(kind)
  const schema = schemaOf(kind)
  const texts: string[] = []
  for (const { id, value } of own) {
    const text = textOf(value, schema, folder) as string
    if (shape === 'single') return indented(text, 2)
    const inner = indented(text, 4)
    texts.push(shape === 'record' ? `${JSON.stringify(id)}: ${inner}` : inner)
  }
  const [begin, end] = shape === 'record' ? '{}' : '[]'
  return `${begin}\n    ${texts.join(',\n    ')}\n  ${end}`
}

/** Renders a value with absolute paths; `key`: only this member of it. */
function textOf(value: unknown, schema: z.ZodType, folder: string, key?: string) {
  const relative = findAnnotated(schema, value).filter(
    ({ annotation, value: name }) =>
      annotation.is === 'path' && typeof name === 'string' && !isAbsolute(name),
  )
  const copy = relative.length === 0 ? value : structuredClone(value)
  for (const { path, value: name } of relative) {
    const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as never)[step], copy)
    const holder = parent as Record<PropertyKey, unknown>
    holder[path.at(-1) as PropertyKey] = resolve(folder, name as string)
  }
  if (key === undefined) return JSON.stringify(copy, escapeVariables, 2)
  const member = JSON.stringify((copy as Record<string, unknown>)[key], escapeVariables, 2)
  return member === undefined ? undefined : indented(member, 2)
}

function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`)
}

/** All variables are expanded already, so a remaining `$` is literal. */
function escapeVariables(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('$', '$$$$') : value
}
