/** A configuration as a JSON tree, from which the text is written and which can be reduced. */
export type Json = null | boolean | number | string | readonly Json[] | Tree
export interface Tree {
  readonly [key: string]: Json
}

export type Path = readonly (string | number)[]

export interface Written {
  readonly text: string
  /** The line (from 1) on which the value at a path (joined by slashes) begins. */
  readonly lines: ReadonlyMap<string, number>
}

/** Block YAML with one rule per line, so that a line of a message identifies one rule. */
export function writeYaml(tree: Tree): Written {
  const out: string[] = []
  const lines = new Map<string, number>()
  writeTree(tree, '', '', { out, lines })
  return { text: `${out.join('\n')}\n`, lines }
}

interface Output {
  readonly out: string[]
  readonly lines: Map<string, number>
}

function writeTree(tree: Tree, indent: string, path: string, output: Output, first = indent): void {
  let lead = first
  for (const [key, value] of Object.entries(tree)) {
    writeEntry(
      `${lead}${/^[a-z][\w-]*$/i.test(key) ? key : JSON.stringify(key)}:`,
      value,
      indent,
      `${path}${key}`,
      output,
    )
    lead = indent
  }
}

function writeEntry(lead: string, value: Json, indent: string, path: string, output: Output): void {
  const { out, lines } = output
  lines.set(path, out.length + 1)
  if (isTree(value) && Object.keys(value).length > 0) {
    out.push(lead)
    writeTree(value, `${indent}  `, `${path}/`, output)
  } else if (Array.isArray(value) && value.length > 0) {
    out.push(lead)
    for (const [index, item] of value.entries()) writeItem(item, indent, `${path}/${index}`, output)
  } else out.push(`${lead} ${scalar(value)}`)
}

function writeItem(item: Json, indent: string, path: string, output: Output): void {
  output.lines.set(path, output.out.length + 1)
  if (isTree(item) && Object.keys(item).length > 0) {
    writeTree(item, `${indent}  `, `${path}/`, output, `${indent}- `)
  } else output.out.push(`${indent}- ${scalar(item)}`)
}

/** JSON is YAML; a dollar sign would name a variable. */
function scalar(value: Json): string {
  return JSON.stringify(value).replaceAll('$', '$$$$')
}

export function isTree(value: Json | undefined): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function at(tree: Json | undefined, path: Path): Json | undefined {
  let value: Json | undefined = tree
  for (const step of path) {
    if (value === null || typeof value !== 'object') return undefined
    value = (value as Readonly<Record<string | number, Json>>)[step]
  }
  return value
}

/** A copy with another value at the path; `undefined` removes it. */
export function withValue<T extends Json>(tree: T, path: Path, value: Json | undefined): T {
  const [step, ...rest] = path
  if (step === undefined) return value as T
  if (Array.isArray(tree)) {
    const copy: Json[] = [...(tree as readonly Json[])]
    if (rest.length === 0 && value === undefined) copy.splice(Number(step), 1)
    else copy[Number(step)] = withValue(copy[Number(step)] ?? null, rest, value)
    return copy as unknown as T
  }
  const copy: Record<string, Json> = { ...(tree as Tree) }
  if (rest.length === 0 && value === undefined) delete copy[step]
  else copy[step] = withValue(copy[step] ?? {}, rest, value)
  return copy as unknown as T
}

/** Every nested value with its path, outer values first. */
export function* walk(value: Json, path: Path = []): Generator<readonly [Path, Json]> {
  yield [path, value]
  if (value === null || typeof value !== 'object') return
  for (const [key, inner] of Object.entries(value)) {
    yield* walk(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

const ACTIONS: ReadonlySet<unknown> = new Set(['allow', 'require', 'deny'])

/** Rules: their paths, actions and expressions. */
export interface WrittenRule {
  readonly path: Path
  readonly action: string
  readonly expression: string
}

export function rulesOf(tree: Tree): readonly WrittenRule[] {
  const found: WrittenRule[] = []
  for (const [path, value] of walk(tree)) {
    if (typeof value !== 'string') continue
    const last = path.at(-1)
    if (path.at(-3) === 'rules' && ACTIONS.has(last)) {
      found.push({ path, action: String(last), expression: value })
    } else if (path.at(-2) === 'matchExpressions') {
      const action = at(tree, [...path.slice(0, -3), 'action'])
      found.push({ path, action: String(action).toLowerCase(), expression: value })
    }
  }
  return found
}
