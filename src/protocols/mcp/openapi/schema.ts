import { parse as parseYaml } from 'yaml'

/* A document of OpenAPI 3, as far as it is looked into when a configuration is read. */

export type DocumentObject = Readonly<Record<string, unknown>>

/** More is no description of an API. */
const MAX_TEXT = 16 * 1024 * 1024

/** The document; a string says what is wrong with it. */
export function readDocument(text: string): DocumentObject | string {
  if (text.length > MAX_TEXT) return 'it is too long'
  const document = parsed(text)
  if (!isDocumentObject(document)) return 'it is neither a JSON nor a YAML object'
  const { openapi, swagger, paths } = document
  if (swagger !== undefined) return 'OpenAPI 2 (Swagger) is not supported; convert it to OpenAPI 3'
  if (typeof openapi !== 'string' || !/^3\.\d/.test(openapi)) return '`openapi` must be 3.x'
  return isDocumentObject(paths) ? document : '`paths` is missing'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Most are YAML.
  }
  try {
    return parseYaml(text, { maxAliasCount: 1_000 })
  } catch {
    return undefined
  }
}

export function isDocumentObject(value: unknown): value is DocumentObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
