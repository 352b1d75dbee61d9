import { parse as parseYaml } from 'yaml'

/* An OpenAPI 3 document, as far as it is read while a configuration is loaded. */

export type DocumentObject = Readonly<Record<string, unknown>>

/** The max length of an API description. */
const MAX_TEXT = 16 * 1024 * 1024

/** Returns the document, or a string that describes the problem. */
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
