import * as z from 'zod'
import { pointerOf, type Steps, stepsOf } from '../../model/json-pointer.ts'
import type { ConfigurationView } from '../../sources/database/configuration.ts'
import { type FieldOrigin, fieldOrigins } from '../../sources/database/field-origins.ts'
import type { MergedResource } from '../../sources/database/merge.ts'
import { isResourceKind, shapeOf } from '../../sources/database/resource-kinds.ts'
import { keyOf } from '../../sources/database/resources.ts'
import { type Path, positionAt } from '../../sources/file/document.ts'
import { SectionNode } from '../../sources/file/section-node.ts'
import { findResource, unknownResource, withView } from './config.ts'
import { type Endpoint, ok, problem } from './define.ts'

const POINTER = /^(?:\/[^/]*)*$/

const fieldSchema = z
  .object({
    field: z.string().describe('A JSON pointer; an empty one is the whole resource.'),
    from: z.enum(['baseline', 'database']),
    revision: z.int().nullable().describe('The revision that last changed the field.'),
    author: z.string().nullable(),
    time: z.string().nullable(),
    comment: z.string().nullable(),
    line: z
      .int()
      .nullable()
      .describe('The line of the file with this field, even if an edit overrides it.'),
    isRemoved: z.boolean().describe('An edit deleted the field.'),
    isDrifted: z.boolean().describe('The file has changed the field since it was edited.'),
  })
  .meta({ id: 'FieldOrigin' })

export const FIELD_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/api/config/resources/{kind}/{id}/fields',
    summary: 'The source of each field: a line of the file, or a revision and its author.',
    role: 'viewer',
    query: z.object({
      field: z
        .string()
        .regex(POINTER, 'a field is a JSON pointer, such as /policies/timeout')
        .default('')
        .describe('Only this field and the fields below it, as a JSON pointer.'),
    }),
    responses: {
      200: {
        description: 'The fields; adjacent fields with the same source are combined.',
        schema: z.object({ fields: z.array(fieldSchema) }),
      },
    },
    run: ({ parts, query }, { configuration }) =>
      withView(configuration, async (view) => {
        const { kind = '', id = '' } = parts
        const found = isResourceKind(kind) ? findResource(view, kind, id) : undefined
        if (found === undefined) return problem(404, unknownResource(view, kind, id))
        const field = String(query['field'])
        const isHidden = view.merged.hidden.includes(found)
        const edits = (before: number) => configuration.store?.edits(found, before) ?? NO_EDITS
        try {
          const origins = await fieldOrigins(found, isHidden, edits, stepsOf(field))
          if (origins === undefined) return problem(404, `${kind}/${id} has no field \`${field}\``)
          return ok({ fields: origins.map((one) => shown(view, found, one)) })
        } catch (error) {
          return problem(503, `cannot read the database: ${(error as Error).message}`)
        }
      }),
  },
]

const NO_EDITS = Promise.resolve([])

function shown(view: ConfigurationView, found: MergedResource, origin: FieldOrigin) {
  const { steps, from, edit, isRemoved, isDrifted } = origin
  return {
    field: pointerOf(steps),
    from,
    revision: edit?.revision ?? null,
    author: edit?.author ?? null,
    time: edit?.time ?? null,
    comment: edit?.comment ?? null,
    line: lineOf(view, found, steps),
    isRemoved,
    isDrifted,
  }
}

/** The line of a field in the file; null if it is not there. */
function lineOf({ baseline }: ConfigurationView, found: MergedResource, steps: Steps) {
  const own = baseline.resources.get(keyOf(found))
  if (own === undefined) return null
  const { kind, id, value } = own
  const { [kind]: section } = baseline.value as Readonly<Record<string, unknown>>
  const shape = shapeOf(kind)
  const place: Path =
    shape === 'single'
      ? [kind]
      : shape === 'record'
        ? [kind, id]
        : [kind, (section as readonly unknown[]).indexOf(value)]
  const inner: PropertyKey[] = []
  let at: unknown = value
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return null
    inner.push(Array.isArray(at) ? Number(step) : step)
    at = (at as Readonly<Record<string, unknown>>)[step]
  }
  const { start } = SectionNode.of(baseline.outline)
    .inner(...place, ...inner)
    .span('key')
  return positionAt(baseline.outline, start).line
}
