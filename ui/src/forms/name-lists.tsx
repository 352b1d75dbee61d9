import type { ResourceSummary } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import type { FieldPath } from '../text/places.ts'
import type { Shape } from './shape.ts'

/** More names than this are not offered. */
const MAX_NAMES = 200

/** The id of the list of names that a field may refer to. */
export function listOf(shape: Shape & { kind: 'text' }, path: FieldPath): string | undefined {
  if (shape.hint?.is === 'backend' || path.at(-1) === 'backend') return 'names-of-backends'
  if (path.at(-1) === 'gateways' || path.at(-2) === 'gateways') return 'names-of-gateways'
  return undefined
}

/** The names of resources, for fields that refer to them. */
export function NameLists() {
  const { data } = useApi<{ readonly resources: readonly ResourceSummary[] }>(
    '/api/config/resources',
  )
  const names = Map.groupBy(data?.resources ?? [], ({ kind }) => kind)
  return (['backends', 'gateways'] as const).map((kind) => (
    <datalist key={kind} id={`names-of-${kind}`}>
      {(names.get(kind) ?? []).slice(0, MAX_NAMES).map(({ id }) => (
        <option key={id} value={id} />
      ))}
    </datalist>
  ))
}
