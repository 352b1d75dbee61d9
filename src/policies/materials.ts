import * as z from 'zod'
import { sha256 } from '../cel/library/hash-sha256.ts'
import type { Material, Secret } from '../model/material.ts'
import { bindSecret, isSecretRef, type SecretRef } from '../model/secret.ts'
import { annotate, type CheckText } from './annotations.ts'
import { issue } from './shapes.ts'

/**
 * Content from the configuration or from a file. A schema reads no files: the content of a file is
 * empty at first, and the source that has the file fills it in (see `fillMaterials`).
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

/** The path of a file, whose content must pass the check. */
export const file = (check?: CheckText) =>
  path(check).transform((value) => toMaterial({ file: value }))

/** A string, or `{file: path}`; both must pass the check. */
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

/** The path of a file, or `{inline: string}`. */
export const fileOrText = () =>
  z
    .union([path(), inPlace()])
    .transform((value) => toMaterial(typeof value === 'string' ? { file: value } : value.inline))

/** A string, or `{file: path}`; never shown. */
export const secret = () => z.union([secretString(), inFile()]).transform(toSecretRef)

/** The same for a process setting, which is not part of a Model. */
export const settingSecret = () =>
  z
    .union([secretString(), inFile()])
    .transform(
      (value): Secret =>
        typeof value === 'string' ? { secret: value } : { file: value.file, secret: '' },
    )

/** The path of a file, or `{inline: string}`; never shown. */
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

/** A reference to this secret. */
export function sealSecret(
  text: string,
  secretRef = 'inline',
  version = secretVersion(sha256(new TextEncoder().encode(text))),
): SecretRef {
  return bindSecret({ secretRef, version }, text)
}

/** From the SHA-256 of the content: half of it is enough to distinguish versions. */
export function secretVersion(digest: Uint8Array): string {
  return digest.subarray(0, 16).toHex()
}

/** The files that a configuration references. */
export interface FileContents {
  textOf(file: string): string | undefined
  secretOf(file: string): SecretRef | undefined
}

/** The value with file contents filled in; empty if a file has none. */
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
