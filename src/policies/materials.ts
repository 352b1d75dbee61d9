import * as z from 'zod'
import { sha256 } from '../cel/library/hash-sha256.ts'
import type { Material, Secret } from '../model/material.ts'
import { bindSecret, isSecretRef, type SecretRef } from '../model/secret.ts'
import { annotate, type CheckText } from './annotations.ts'
import { issue } from './shapes.ts'

/**
 * Text of the configuration or of a file. A schema reads no files: what stands in one comes out
 * empty, and the source that has the file fills it in (see `fillMaterials`).
 */

const path = (check?: CheckText) =>
  annotate(
    z.string().min(1).max(4096).meta({ title: 'path' }),
    check === undefined ? { is: 'path' } : { is: 'path', check },
  )
const inFile = (check?: CheckText) =>
  z.strictObject({ file: path(check).describe('The path of a file with the content.') })
const inPlace = () => z.strictObject({ inline: z.string().min(1).describe('The content itself.') })
const secretString = () => annotate(z.string().min(1), { is: 'secret' })
const secretInPlace = () =>
  z.strictObject({
    inline: annotate(z.string().min(1).describe('The content itself.'), { is: 'secret' }),
  })

/** The path of a file, whose text must stand the check. */
export const file = (check?: CheckText) =>
  path(check).transform((value) => toMaterial({ file: value }))

/** The text, or `{file: path}`; both must stand the check. */
export const textOrFile = (check?: CheckText) => {
  const text = z
    .string()
    .min(1)
    .check(({ value, issues }) => {
      const problem = check?.(value)
      if (problem === undefined) return
      const { message, hint } = problem
      issues.push(issue(value.slice(0, 64), message, { rule: 'malformed', hint }))
    })
  return z.union([text, inFile(check)]).transform(toMaterial)
}

/** The path of a file, or `{inline: text}`. */
export const fileOrText = () =>
  z
    .union([path(), inPlace()])
    .transform((value) => toMaterial(typeof value === 'string' ? { file: value } : value.inline))

/** The text, or `{file: path}`; never shown. */
export const secret = () => z.union([secretString(), inFile()]).transform(toSecretRef)

/** The same for a setting of the process, which is no part of a Model. */
export const settingSecret = () =>
  z
    .union([secretString(), inFile()])
    .transform(
      (value): Secret =>
        typeof value === 'string' ? { secret: value } : { file: value.file, secret: '' },
    )

/** The path of a file, or `{inline: text}`; never shown. */
export const fileOrSecret = () =>
  z
    .union([path(), secretInPlace()])
    .transform((value) => toSecretRef(typeof value === 'string' ? { file: value } : value.inline))

function toMaterial(value: string | { readonly file: string }): Material {
  return typeof value === 'string' ? { text: value } : { file: value.file, text: '' }
}

export function toSecretRef(value: string | { readonly file: string }): SecretRef {
  return typeof value === 'string' ? sealSecret(value) : { secretRef: value.file, version: '' }
}

/** A reference to this text. */
export function sealSecret(
  text: string,
  secretRef = 'inline',
  version = secretVersion(sha256(new TextEncoder().encode(text))),
): SecretRef {
  return bindSecret({ secretRef, version }, text)
}

/** Of the SHA-256 of the text: half of it is enough to tell versions apart. */
export function secretVersion(digest: Uint8Array): string {
  return digest.subarray(0, 16).toHex()
}

/** The files that a configuration names. */
export interface FileContents {
  textOf(file: string): string | undefined
  secretOf(file: string): SecretRef | undefined
}

/** The value with the text of files filled in; where a file has none it stays empty. */
export function fillMaterials<T>(value: T, files: FileContents): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => fillMaterials(item, files)) as T
  if (isSecretRef(value)) {
    return value.version === '' ? ((files.secretOf(value.secretRef) ?? value) as T) : value
  }
  const { file } = value as { readonly file?: unknown }
  const text = typeof file === 'string' ? files.textOf(file) : undefined
  const filled: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const isText = key === 'text' || key === 'secret'
    filled[key] = isText && text !== undefined ? text : fillMaterials(member, files)
  }
  return filled as T
}
