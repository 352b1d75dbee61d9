import type { Schema } from './schema.ts'
import { type Shape, shapeOf } from './shape.ts'

export type Fields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value with which a field begins; undefined if its user must write one first. */
export function startOf(schema: Schema): unknown {
  const shape = shapeOf(schema)
  switch (shape.kind) {
    case 'object':
    case 'map':
      return {}
    case 'list':
      return isNested(shape.item) ? [startOf(shape.item)] : []
    case 'union':
      return shape.variants[0] === undefined ? undefined : startOf(shape.variants[0].schema)
    case 'boolean':
      return true
    default:
      return undefined
  }
}

/** The value with which an item of a list begins: every item is something. */
export function startOfItem(schema: Schema): unknown {
  const shape = shapeOf(schema)
  const start = startOf(schema)
  if (start !== undefined) return start
  if (shape.kind === 'choice') return shape.options[0]?.value ?? null
  if (shape.kind === 'number') return shape.min ?? 0
  return shape.kind === 'anything' ? null : ''
}

function isNested(schema: Schema): boolean {
  const { kind } = shapeOf(schema)
  return kind === 'object' || kind === 'map'
}

/** The value with another value of a member; undefined removes it. */
export function withMember(value: unknown, key: string, member: unknown): Fields {
  const fields = fieldsOf(value)
  if (member !== undefined) return { ...fields, [key]: member }
  const { [key]: _, ...others } = fields
  return others
}

/** The variant that fits a value best; the first for no value. */
export function variantOf(shape: Shape & { kind: 'union' }, value: unknown): number {
  if (value === undefined) return 0
  const scores = shape.variants.map(({ schema }) => fitOf(schema, value))
  return Math.max(0, scores.indexOf(Math.max(...scores)))
}

/** How well a value fits a schema: below zero if it is of another type. */
function fitOf(schema: Schema, value: unknown): number {
  const shape = shapeOf(schema)
  switch (shape.kind) {
    case 'anything':
      return 0
    case 'object': {
      if (!isFields(value)) return -1
      const keys = Object.keys(value)
      const known = shape.members.filter(({ key }) => keys.includes(key))
      const missing = shape.members.filter(({ key, isRequired }) => isRequired && !(key in value))
      const inner = known.map(({ key, schema: own }) => Math.min(0, fitOf(own, value[key])))
      const sum = inner.reduce((all, one) => all + one, 0)
      const unknown = keys.length - known.length
      return Math.max(
        0.001,
        2 + known.length / 100 - unknown * 0.1 - missing.length * 0.1 + sum * 0.1,
      )
    }
    case 'map':
      return isFields(value) ? 1 : -1
    case 'list': {
      if (!Array.isArray(value)) return -1
      const [first] = value
      return first === undefined ? 1 : 1 + Math.min(0, fitOf(shape.item, first)) / 2
    }
    case 'union':
      return Math.max(...shape.variants.map((one) => fitOf(one.schema, value)))
    case 'choice': {
      const all = shape.options.flatMap((option) => [option.value, ...option.others])
      return all.includes(value) ? 3 : -1
    }
    case 'number':
      return typeof value === 'number' ? 1 : -1
    case 'boolean':
      return typeof value === 'boolean' ? 1 : -1
    case 'text':
      return typeof value === 'string' ? fitOfText(shape.pattern, value) : -1
  }
}

function fitOfText(pattern: RegExp | undefined, text: string): number {
  if (pattern === undefined) return 1
  return pattern.test(text) ? 2 : 0.5
}
