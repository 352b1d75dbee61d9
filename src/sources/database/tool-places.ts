import type { ObjectOrigin } from '../../diagnostics/diagnostic.ts'
import type { MergedResource } from './merge.ts'
import { RESOURCE_KINDS, type ResourceKind, SINGLE_ID, shapeOf } from './resource-kinds.ts'

type Step = string | number

/**
 * The resource and field on a line (from 1) of the text that tools are given. Users do not
 * have that text, so messages about it name what is in it.
 */
export function placeInTools(
  text: string,
  line: number,
  resources: readonly MergedResource[],
): ObjectOrigin | undefined {
  const [section, item, ...rest] = pathAt(text.split('\n'), line - 1)
  const kind = RESOURCE_KINDS.find((one) => one === section)
  if (kind === undefined) return undefined
  const shape = shapeOf(kind)
  if (shape === 'single') {
    const inner = item === undefined ? [] : [item, ...rest]
    return { kind: 'object', object: `${kind}/${SINGLE_ID}`, field: fieldOf(inner) }
  }
  const id = shape === 'record' ? item : idAt(resources, kind, Number(item))
  if (id === undefined) return undefined
  return { kind: 'object', object: `${kind}/${id}`, field: fieldOf(rest) }
}

function idAt(resources: readonly MergedResource[], kind: ResourceKind, index: number) {
  return resources.filter((one) => one.kind === kind)[index]?.id
}

/** The path of a line of JSON that has a line for each value, by its indentation. */
function pathAt(lines: readonly string[], from: number): readonly Step[] {
  const path: Step[] = []
  let at = from
  while (at > 0) {
    const indent = indentOf(lines, at)
    let parent = at - 1
    let index = 0
    while (parent > 0 && indentOf(lines, parent) >= indent) {
      if (indentOf(lines, parent) === indent && !isEnd(lines[parent])) index++
      parent--
    }
    const key = /^\s*("(?:[^"\\]|\\.)*"): /.exec(lines[at] ?? '')?.[1]
    path.unshift(key === undefined ? index : (JSON.parse(key) as string))
    at = parent
  }
  return path
}

function indentOf(lines: readonly string[], at: number): number {
  return /^ */.exec(lines[at] ?? '')?.[0].length ?? 0
}

function isEnd(line: string | undefined): boolean {
  return /^\s*[\]}]/.test(line ?? '')
}

/** As in other messages: `policies.authorization.rules[0]`. */
function fieldOf(path: readonly Step[]): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`,
    )
    .join('')
}
