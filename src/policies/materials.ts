import * as z from 'zod'
import type { Material, Secret } from '../model/material.ts'
import { annotate, type CheckText } from './annotations.ts'

/**
 * Text of the configuration or of a file. A schema reads no files: what stands in one comes out
 * empty, and the source that has the file fills it in (see `fillMaterials`).
 */

const path = (check?: CheckText) =>
  annotate(
    z.string().min(1).max(4096).meta({ title: 'path' }),
    check === undefined ? { is: 'path' } : { is: 'path', check },
  )
const inFile = () => z.strictObject({ file: path().describe('The path of a file with the text.') })
const inPlace = () => z.strictObject({ inline: z.string().min(1).describe('The text itself.') })
const secretText = () => annotate(z.string().min(1), { is: 'secret' })
const secretInPlace = () =>
  z.strictObject({
    inline: annotate(z.string().min(1).describe('The text itself.'), { is: 'secret' }),
  })

/** The path of a file, whose text must stand the check. */
export const file = (check?: CheckText) =>
  path(check).transform((value) => toMaterial({ file: value }))

/** The text, or `{file: path}`. */
export const textOrFile = () => z.union([z.string().min(1), inFile()]).transform(toMaterial)

/** The path of a file, or `{inline: text}`. */
export const fileOrText = () =>
  z
    .union([path(), inPlace()])
    .transform((value) => toMaterial(typeof value === 'string' ? { file: value } : value.inline))

/** The text, or `{file: path}`; never shown. */
export const secret = () => z.union([secretText(), inFile()]).transform(toSecret)

/** The path of a file, or `{inline: text}`; never shown. */
export const fileOrSecret = () =>
  z
    .union([path(), secretInPlace()])
    .transform((value) => toSecret(typeof value === 'string' ? { file: value } : value.inline))

function toMaterial(value: string | { readonly file: string }): Material {
  return typeof value === 'string' ? { text: value } : { file: value.file, text: '' }
}

function toSecret(value: string | { readonly file: string }): Secret {
  return typeof value === 'string' ? { secret: value } : { file: value.file, secret: '' }
}

/** The value with the text of files filled in; where a file has none it stays empty. */
export function fillMaterials<T>(value: T, textOf: (file: string) => string | undefined): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => fillMaterials(item, textOf)) as T
  const { file } = value as { readonly file?: unknown }
  const text = typeof file === 'string' ? textOf(file) : undefined
  const filled: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const isText = key === 'text' || key === 'secret'
    filled[key] = isText && text !== undefined ? text : fillMaterials(member, textOf)
  }
  return filled as T
}
