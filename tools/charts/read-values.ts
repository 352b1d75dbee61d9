import { parse } from 'yaml'

/** A key of a values.yaml that has its own comment. */
export interface DocumentedKey {
  /** `gateway.service.type` */
  readonly key: string
  /** The type if the default does not show it, as `(int) …` at the start of the comment. */
  readonly type: string | undefined
  readonly meaning: string
  readonly value: unknown
}

/** Reads the `# -- …` comments above keys, in file order. */
export function readValues(text: string): readonly DocumentedKey[] {
  const values: unknown = parse(text)
  const found: DocumentedKey[] = []
  const path: { readonly indent: number; readonly name: string }[] = []
  let comment: string[] = []
  for (const line of text.split('\n')) {
    const [, indent = '', rest = ''] = /^( *)(.*)$/.exec(line) ?? []
    if (rest.startsWith('#')) {
      if (rest.startsWith('# -- ')) comment = [rest.slice(5)]
      else if (comment.length > 0) comment.push(rest.replace(/^# ?/, ''))
      continue
    }
    const name = /^([A-Za-z][\w.]*):/.exec(rest)?.[1]
    if (name !== undefined) {
      while ((path.at(-1)?.indent ?? -1) >= indent.length) path.pop()
      path.push({ indent: indent.length, name })
      if (comment.length > 0) {
        const names = path.map((part) => part.name)
        found.push({
          ...readComment(comment.join(' ')),
          key: names.join('.'),
          value: at(values, names),
        })
      }
    }
    comment = []
  }
  return found
}

function readComment(comment: string): Pick<DocumentedKey, 'type' | 'meaning'> {
  const [, type, meaning = comment] = /^\(([^)]+)\) (.*)$/.exec(comment) ?? []
  return { type, meaning }
}

function at(value: unknown, names: readonly string[]): unknown {
  return names.reduce((inner, name) => (inner as Record<string, unknown>)[name], value)
}
