import type { FormHint } from '../../../src/sources/file/editing.ts'
import { resolve, type Schema } from './schema.ts'

/** What a form shows for a schema. */
export type Shape = Readonly<{ description: string; name: string | undefined }> &
  (
    | { readonly kind: 'object'; readonly members: readonly Member[]; readonly choices: Choices }
    | { readonly kind: 'map'; readonly value: Schema; readonly keyTitle: string }
    | { readonly kind: 'list'; readonly item: Schema; readonly max: number }
    | { readonly kind: 'union'; readonly variants: readonly Variant[] }
    | { readonly kind: 'choice'; readonly options: readonly Option[] }
    | { readonly kind: 'number'; readonly isInteger: boolean; readonly min?: number }
    | { readonly kind: 'boolean' }
    | {
        readonly kind: 'text'
        readonly title: string
        readonly hint: FormHint | undefined
        readonly pattern: RegExp | undefined
      }
    /** Any JSON value. */
    | { readonly kind: 'anything' }
  )

/** Groups of keys of which exactly one is set. */
export type Choices = readonly (readonly string[])[]

export interface Member {
  readonly key: string
  readonly schema: Schema
  readonly isRequired: boolean
  readonly description: string
  /** The key of which this is another spelling: shown only where it is used. */
  readonly aliasOf: string | undefined
}

export interface Variant {
  readonly label: string
  readonly schema: Schema
}

export interface Option {
  readonly value: string | number | boolean | null
  /** Other spellings of the value. */
  readonly others: readonly unknown[]
}

const SHAPES = new WeakMap<Schema, Shape>()

export function shapeOf(schema: Schema): Shape {
  const found = SHAPES.get(schema)
  if (found !== undefined) return found
  const made = makeShape(schema)
  SHAPES.set(schema, made)
  return made
}

function makeShape(written: Schema): Shape {
  const { schema, name } = resolve(written)
  const { description = '' } = schema
  const base = { description, name }
  if (name === 'anything' || /^__schema\d+$/.test(name ?? '')) return { ...base, kind: 'anything' }
  if (schema.anyOf !== undefined) return { ...base, ...unionOf(schema.anyOf) }
  if (schema.enum !== undefined || schema.const !== undefined) {
    return { ...base, kind: 'choice', options: optionsOf(schema.enum ?? [schema.const]) }
  }
  const { type, properties, additionalProperties, items } = schema
  switch (type) {
    case 'object':
      if (properties === undefined && typeof additionalProperties === 'object') {
        const keyTitle = schema.propertyNames?.title ?? 'key'
        return { ...base, kind: 'map', value: additionalProperties, keyTitle }
      }
      return { ...base, kind: 'object', members: membersOf(schema), choices: choicesOf(schema) }
    case 'array':
      return { ...base, kind: 'list', item: items ?? {}, max: schema.maxItems ?? Infinity }
    case 'integer':
    case 'number': {
      const min = schema.minimum === undefined ? {} : { min: schema.minimum }
      return { ...base, kind: 'number', isInteger: type === 'integer', ...min }
    }
    case 'boolean':
      return { ...base, kind: 'boolean' }
    case 'string':
      return {
        ...base,
        kind: 'text',
        title: schema.title ?? '',
        hint: schema['x-form'],
        pattern: schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u'),
      }
    case 'null':
      return { ...base, kind: 'choice', options: optionsOf([null]) }
    default:
      return { ...base, kind: 'anything' }
  }
}

function membersOf(schema: Schema): readonly Member[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).map(([key, member]) => {
    const hint = member['x-form']
    const aliasOf = hint?.is === 'alias' ? hint.of : undefined
    const description = resolve(member).schema.description ?? ''
    return { key, schema: member, isRequired: required.includes(key), description, aliasOf }
  })
}

function choicesOf({ allOf = [], properties = {} }: Schema): Choices {
  return allOf.flatMap(({ oneOf }) =>
    oneOf === undefined
      ? []
      : [oneOf.flatMap(({ required }) => required).filter((key) => Object.hasOwn(properties, key))],
  )
}

function unionOf(
  options: readonly Schema[],
):
  | Pick<Shape & { kind: 'union' }, 'kind' | 'variants'>
  | Pick<Shape & { kind: 'choice' }, 'kind' | 'options'> {
  const flat = flatten(options)
  const words = flat.map((one) => {
    const { schema } = resolve(one)
    return schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  })
  if (words.every((one) => one !== undefined)) {
    return { kind: 'choice', options: optionsOf(words.flat()) }
  }
  const counts = new Map<string, number>()
  const variants = flat.map((schema) => {
    const label = labelOf(schema)
    const count = (counts.get(label) ?? 0) + 1
    counts.set(label, count)
    return { label: count === 1 ? label : `${label} (${count})`, schema }
  })
  return { kind: 'union', variants }
}

function flatten(options: readonly Schema[]): readonly Schema[] {
  return options.flatMap((one) => {
    const { schema, name } = resolve(one)
    const isOpaque = shapeIsAnything(name)
    return schema.anyOf === undefined || isOpaque ? [one] : flatten(schema.anyOf)
  })
}

function shapeIsAnything(name: string | undefined): boolean {
  return name === 'anything' || /^__schema\d+$/.test(name ?? '')
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'Text',
  integer: 'Number',
  number: 'Number',
  boolean: 'Yes or no',
  array: 'List',
  null: 'Nothing',
}

function labelOf(option: Schema): string {
  const { schema } = resolve(option)
  const { type = '', title, properties = {}, required = [] } = schema
  if (schema.enum !== undefined || schema.const !== undefined) return 'Predefined'
  const hint = schema['x-form']
  if (hint?.is === 'expression') return 'CEL expression'
  if (hint?.is === 'secret') return 'Secret'
  if (type === 'object') {
    const keys = required.length > 0 ? required : Object.keys(properties).slice(0, 3)
    return keys.length === 0 ? 'Mapping' : keys.join(', ')
  }
  if (title !== undefined) return `${title.charAt(0).toUpperCase()}${title.slice(1)}`
  return TYPES[type] ?? 'Value'
}

/** Words that differ only in case are one option, and the first is written. */
function optionsOf(words: readonly unknown[]): readonly Option[] {
  const options = new Map<string, { value: Option['value']; others: unknown[] }>()
  for (const word of words) {
    const key = typeof word === 'string' ? word.toLowerCase() : JSON.stringify(word)
    const known = options.get(key)
    if (known === undefined) options.set(key, { value: word as Option['value'], others: [] })
    else known.others.push(word)
  }
  return [...options.values()]
}
