import { parse } from 'yaml'
import type { Change, ResourceSummary } from '../api/shapes.ts'

const SINGLES = ['frontendPolicies', 'llm', 'mcp', 'ui']
const RECORDS = ['gateways']
const LISTS = ['routes', 'tcpRoutes', 'backends', 'policies']

/** What was edited in the text of a whole configuration, resource by resource. */
export function changesIn(
  before: string,
  after: string,
  summaries: readonly ResourceSummary[],
): readonly Change[] {
  const [old, now] = [resourcesIn(before), resourcesIn(after)]
  const etags = new Map(
    summaries.filter((one) => !one.isHidden).map((one) => [`${one.kind}/${one.id}`, one.etag]),
  )
  const changes: Change[] = []
  for (const [key, { kind, id, value }] of now) {
    if (JSON.stringify(old.get(key)?.value) === JSON.stringify(value)) continue
    changes.push({ action: 'set', kind, id, value, ifMatch: etags.get(key) ?? 'none' })
  }
  for (const [key, { kind, id }] of old) {
    const etag = etags.get(key)
    if (now.has(key)) continue
    changes.push({ action: 'delete', kind, id, ...(etag === undefined ? {} : { ifMatch: etag }) })
  }
  return changes
}

interface Found {
  readonly kind: string
  readonly id: string
  readonly value: unknown
}

function resourcesIn(text: string): ReadonlyMap<string, Found> {
  const document = (parse(text) ?? {}) as Readonly<Record<string, unknown>>
  const found = new Map<string, Found>()
  const add = (kind: string, id: string, value: unknown) =>
    void found.set(`${kind}/${id}`, { kind, id, value })
  for (const [kind, section] of Object.entries(document)) {
    if (SINGLES.includes(kind)) add(kind, 'default', section)
    else if (RECORDS.includes(kind)) {
      for (const [id, value] of Object.entries((section ?? {}) as object)) add(kind, id, value)
    } else if (LISTS.includes(kind) && Array.isArray(section)) {
      for (const value of section) add(kind, nameOf(value), value)
    }
  }
  return found
}

function nameOf(value: unknown): string {
  const { name } = (value ?? {}) as { readonly name?: unknown }
  if (typeof name === 'string') return name
  if (typeof name === 'object' && name !== null && 'name' in name) return String(name.name)
  return ''
}
