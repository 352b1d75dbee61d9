import type { Resource } from '../api/shapes.ts'

/** Where a field of a resource comes from. */
export interface FieldOrigin {
  /** As in expressions and messages; empty: all of it. */
  readonly field: string
  readonly from: 'file' | 'edit'
  /** An edit took away what the file has. */
  readonly isRemoved: boolean
  /** The file changed it since it was edited. */
  readonly isDrifted: boolean
}

export function fieldOrigins({ provenance, drift, value, isHidden }: Resource) {
  return Object.entries(provenance).map(([pointer, from]): FieldOrigin => {
    const steps = stepsOf(pointer)
    return {
      field: steps.join('.'),
      from: from === 'database' ? 'edit' : 'file',
      isRemoved: isHidden || !isThere(value, steps),
      isDrifted: drift.includes(pointer),
    }
  })
}

/** RFC 6901. */
function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function isThere(value: unknown, steps: readonly string[]): boolean {
  let inner = value
  for (const step of steps) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return false
    inner = (inner as Readonly<Record<string, unknown>>)[step]
  }
  return true
}
