import { parse } from 'yaml'
import type { Change, ResourceSummary } from '../api/shapes.ts'
import { nameIn } from '../kinds/resource-id.ts'

type Kind = Change['kind']

const SINGLES: readonly Kind[] = ['frontendPolicies', 'llm', 'mcp', 'ui']
/** Kind → the API's prefix for the number of an item that has no name. */
const LISTS: Readonly<Partial<Record<Kind, string>>> = {
  routes: 'route',
  routeGroups: 'route-group',
  tcpRoutes: 'tcp-route',
  backends: 'backend',
  policies: 'policy',
}

/** Finds the edits in the text of a whole configuration, resource by resource. */
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
  readonly kind: Kind
  readonly id: string
  readonly value: unknown
}

function resourcesIn(text: string): ReadonlyMap<string, Found> {
  const document = (parse(text) ?? {}) as Readonly<Record<string, unknown>>
  const found = new Map<string, Found>()
  const add = (kind: Kind, id: string, value: unknown) =>
    void found.set(`${kind}/${id}`, { kind, id, value })
  for (const kind of SINGLES) if (document[kind] !== undefined) add(kind, 'default', document[kind])
  for (const [id, value] of Object.entries((document['gateways'] ?? {}) as object)) {
    add('gateways', id, value)
  }
  for (const [kind, unnamed] of Object.entries(LISTS) as readonly [Kind, string][]) {
    const section = document[kind]
    if (!Array.isArray(section)) continue
    for (const [index, value] of section.entries()) {
      add(kind, nameIn(value) ?? `${unnamed}-${index}`, value)
    }
  }
  return found
}
