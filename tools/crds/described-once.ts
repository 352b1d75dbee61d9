import type { Structural } from './structural.ts'

/** Shorter parts are described in each place, because a reference would not pay off. */
const MIN_BYTES = 600

interface Visit {
  readonly part: Structural
  /** `spec.policies.extAuth` */
  readonly path: string
}

/**
 * Shortens descriptions and keeps all checks: a part that occurs several times is described
 * nearest to the root, and the other places reference it. `kubectl apply` writes a definition
 * into an annotation, which is limited to 256 KiB, and a kind that accepts the same policies in
 * five places would not fit.
 */
export function describedOnce(root: Structural, name: string): Structural {
  const described = whereDescribed(root, name)
  return write(root, name)

  function write(part: Structural, path: string): Structural {
    const where = described.get(contentOf(part))
    if (where === undefined || where === path)
      return withMembers(part, (member, step) => write(member, path + step))
    const { description = '' } = part
    return {
      ...withoutDescriptions(part),
      description: `${description} Fields as at ${where}.`.trimStart(),
    }
  }
}

/** The content of a long part → the first place that contains it, from the root downwards. */
function whereDescribed(root: Structural, name: string): ReadonlyMap<string, string> {
  const first = new Map<string, string>()
  let level: readonly Visit[] = [{ part: root, path: name }]
  while (level.length > 0) {
    const next: Visit[] = []
    for (const { part, path } of level) {
      const content = contentOf(part)
      if (content.length >= MIN_BYTES) {
        // Its members are described at the first place, too.
        if (first.has(content)) continue
        first.set(content, path)
      }
      withMembers(part, (member, step) => {
        next.push({ part: member, path: path + step })
        return member
      })
    }
    level = next
  }
  return first
}

/** The checks and the descriptions of its members; its own description may differ. */
function contentOf({ description: _, ...content }: Structural): string {
  return JSON.stringify(content)
}

function withMembers(
  part: Structural,
  change: (member: Structural, step: string) => Structural,
): Structural {
  const { properties, items, additionalProperties } = part
  return {
    ...part,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, member]) => [key, change(member, `.${key}`)]),
      ),
    }),
    ...(items && { items: change(items, '[]') }),
    ...(additionalProperties && { additionalProperties: change(additionalProperties, '{}') }),
  }
}

/** Returns the checks only. */
export function withoutDescriptions({ description: _, ...part }: Structural): Structural {
  return withMembers(part, withoutDescriptions)
}
