import { dirname, isAbsolute, resolve } from 'node:path'
import { findAnnotated } from '../../policies/schema.ts'
import { fileSchema } from '../file/schema.ts'
import { type ConfigurationView, documentOf } from './configuration.ts'

/**
 * The whole as the text of a file that can be elsewhere: variables are filled in already, and the
 * files that it names are found from there too. It has secrets in it.
 */
export function textForTools(view: ConfigurationView): string {
  const folder = dirname(resolve(view.baseline.file))
  const document = structuredClone(documentOf(view))
  for (const { annotation, path, value } of findAnnotated(fileSchema, document)) {
    if (annotation.is !== 'path' || typeof value !== 'string' || isAbsolute(value)) continue
    const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as never)[step], document)
    ;(parent as Record<PropertyKey, unknown>)[path.at(-1) as PropertyKey] = resolve(folder, value)
  }
  return JSON.stringify(document, escapeVariables, 2)
}

/** What looks like a variable is none: all of them are filled in. */
function escapeVariables(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('$', '$$$$') : value
}
