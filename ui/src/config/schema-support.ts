import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import type { Extension } from '@codemirror/state'

/** The subset of JSON Schema that completion uses. */
export interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $defs?: Readonly<Record<string, Schema>>
}

let loading: Promise<Schema> | undefined

/** Loads the schema that editors use: docs/reference/config.schema.json. */
export function loadSchema(): Promise<Schema> {
  loading ??= import('../../../docs/reference/config.schema.json').then(
    (module) => module.default as unknown as Schema,
  )
  return loading
}

/** Completes the keys that are allowed at the cursor, with their descriptions. */
export function keyCompletion(load: () => Promise<Schema>): Extension {
  return autocompletion({
    override: [(context) => completeKeys(context, load)],
    icons: false,
  })
}

export async function completeKeys(
  context: CompletionContext,
  load: () => Promise<Schema>,
): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos)
  const before = line.text.slice(0, context.pos - line.from)
  const found = /^(\s*(?:- +)*)([A-Za-z_]*)$/.exec(before)
  if (found === null || (!context.explicit && found[2] === '')) return null
  const lines = context.state.doc.toString().split('\n')
  const root = await load()
  const options = keysAt(root, pathAt(lines, line.number - 1, (found[1] ?? '').length))
  return {
    from: context.pos - (found[2] ?? '').length,
    options: options.map(([label, { description = '' }]) => ({
      label,
      type: 'property',
      info: description,
      apply: `${label}: `,
    })),
    validFor: /^\w*$/,
  }
}

/** The keys above a line, by indentation; `[]` for an item of a list. */
function pathAt(lines: readonly string[], at: number, column: number): readonly string[] {
  const path: string[] = []
  let indent = column
  for (let index = at; index >= 0; index--) {
    const text = lines[index] ?? ''
    const [, lead = '', dashes = '', key] =
      /^(\s*)((?:- +)*)(?:(["']?)([\w.-]+)\3\s*:)?/.exec(text)?.slice(0) ?? []
    const name = /^(?:\s*(?:- +)*)["']?([\w.-]+)["']?\s*:/.exec(text)?.[1] ?? key
    const isBlank = text.trim() === '' || text.trim().startsWith('#')
    if (isBlank && index !== at) continue
    if (dashes !== '' && lead.length < indent) {
      const start = lead.length + dashes.length
      if (index !== at && start < indent && name !== undefined) path.unshift(name)
      path.unshift('[]')
      indent = lead.length + 1
      // A list may have the same indentation as its key.
      continue
    }
    if (index !== at && name !== undefined && lead.length < indent) {
      path.unshift(name)
      indent = lead.length
    }
    if (indent === 0) break
  }
  return path
}

function keysAt(root: Schema, path: readonly string[]): readonly (readonly [string, Schema])[] {
  let schemas: readonly Schema[] = [root]
  for (const step of path) schemas = schemas.flatMap((schema) => below(root, schema, step))
  const keys = new Map<string, Schema>()
  for (const schema of schemas.flatMap((one) => alternatives(root, one))) {
    for (const [key, own] of Object.entries(schema.properties ?? {})) keys.set(key, own)
  }
  return [...keys]
}

function below(root: Schema, schema: Schema, step: string): readonly Schema[] {
  return alternatives(root, schema).flatMap(({ items, properties, additionalProperties }) => {
    if (step === '[]') return items === undefined ? [] : [items]
    const own = properties?.[step]
    if (own !== undefined) return [own]
    return typeof additionalProperties === 'object' ? [additionalProperties] : []
  })
}

function alternatives(root: Schema, schema: Schema, depth = 0): readonly Schema[] {
  if (depth > 8) return []
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema
  const name = $ref?.replace('#/$defs/', '')
  const referred = name === undefined ? undefined : root.$defs?.[name]
  const others = [...anyOf, ...oneOf, ...allOf, ...(referred === undefined ? [] : [referred])]
  return [schema, ...others.flatMap((one) => alternatives(root, one, depth + 1))]
}
