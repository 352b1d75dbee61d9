import { type Expression, readValue, type Value, type Variables } from '../cel/index.ts'
import type { Attribute } from '../exchange/decision.ts'

type Read = Expression['reads'][number]

/**
 * The current value of an attribute. If it is unset, reports how much of its path exists: without a
 * token `has(jwt.sub)` is an error, without the claim it is false, and within a string an error
 * again.
 */
export function readAttribute(read: Read, variables: Variables): Attribute {
  const name = read.path
  const value = readValue(read, variables)
  if (value !== undefined) return { name, value, missing: '', within: undefined }
  let above: Value | undefined
  let missing = read.variable
  for (let length = 0; length <= read.fields.length; length++) {
    const field = read.fields[length - 1]
    if (field !== undefined) missing += isName(field) ? `.${field}` : `['${field}']`
    const part = readValue({ ...read, fields: read.fields.slice(0, length) }, variables)
    if (part === undefined) break
    above = part
  }
  return { name, value, missing, within: above === undefined ? undefined : memberless(above) }
}

function isName(text: string): boolean {
  return /^[A-Za-z_]\w*$/.test(text)
}

function memberless(value: Value): string | undefined {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'number':
    case 'bigint':
      return 'number'
    default:
      return undefined
  }
}
